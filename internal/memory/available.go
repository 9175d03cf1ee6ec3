package memory

import (
	"bufio"
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// leastHeadroom is reported for a group at its limit, where 0 would mean unknown.
const leastHeadroom = 1 << 20

// procAvailable reads a Linux root file system: the memory that can be taken
// without swapping (MemAvailable), or what the control groups of the process
// leave of it if that is less. 0 if nothing could be read.
func procAvailable(root fs.FS) int64 {
	return least(root, groupHeadroom, "MemAvailable:", "MemTotal:")
}

// procTotal is what there is in all, in use or not.
func procTotal(root fs.FS) int64 { return least(root, groupLimit, "MemTotal:") }

// least is the least of some lines of /proc/meminfo, "Name:   123 kB", and of what each control group tells; 0 of none.
func least(root fs.FS, group func(root fs.FS, dir string) (int64, bool), lines ...string) int64 {
	var limits []int64
	info, _ := fs.ReadFile(root, "proc/meminfo") // without it there are no lines
	for _, name := range lines {
		if n, ok := statLine(info, name, 1<<10); ok {
			limits = append(limits, n)
		}
	}
	for _, dir := range memoryGroups(root) {
		if n, ok := group(root, dir); ok {
			limits = append(limits, n)
		}
	}
	if len(limits) == 0 {
		return 0
	}
	return slices.Min(limits)
}

// statLine finds the line that begins with name and returns its number times unit.
func statLine(data []byte, name string, unit int64) (int64, bool) {
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) >= 2 && f[0] == name {
			n, err := strconv.ParseInt(f[1], 10, 64)
			return n * unit, err == nil
		}
	}
	return 0, false
}

// memoryGroups lists the directories of the control groups that bound this
// process: its own and every one above it, in version 2's tree and version 1's.
func memoryGroups(root fs.FS) []string {
	const base = "sys/fs/cgroup"
	dirs := []string{base, base + "/memory"}
	data, _ := fs.ReadFile(root, "proc/self/cgroup") // without it there are no lines
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		// hierarchy:controllers:path; version 2 is "0::path".
		parts := strings.SplitN(sc.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		top := base
		switch {
		case parts[0] == "0" && parts[1] == "":
		case strings.Contains(","+parts[1]+",", ",memory,"):
			top = base + "/memory"
		default:
			continue
		}
		for p := path.Clean("/" + parts[2]); p != "/"; p = path.Dir(p) {
			dirs = append(dirs, top+p)
		}
	}
	return dirs
}

// groupHeadroom is what one control group leaves: its limit, less what is in use, not counting reclaimable file pages.
func groupHeadroom(root fs.FS, dir string) (int64, bool) {
	limit, ok := groupLimit(root, dir)
	if !ok {
		return 0, false
	}
	used, _ := groupNumber(root, dir, "memory.current", "memory.usage_in_bytes")
	stat, _ := fs.ReadFile(root, dir+"/memory.stat") // without it there are no lines
	for _, name := range []string{"active_file", "inactive_file"} {
		n, _ := statLine(stat, name, 1)
		used -= n
	}
	return max(leastHeadroom, limit-max(0, used)), true
}

func groupLimit(root fs.FS, dir string) (int64, bool) {
	return groupNumber(root, dir, "memory.max", "memory.limit_in_bytes")
}

// groupNumber reads the first of the named files that holds a number ("max" is none).
func groupNumber(root fs.FS, dir string, names ...string) (int64, bool) {
	for _, name := range names {
		data, err := fs.ReadFile(root, dir+"/"+name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil {
			return n, true
		}
	}
	return 0, false
}
