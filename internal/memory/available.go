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

// leastHeadroom is the headroom in bytes of a group at its limit, since 0 would mean unknown.
const leastHeadroom = 1 << 20

// procAvailable returns the bytes that can be allocated without swapping (MemAvailable) in a Linux root file system, or what
// the control groups of the process leave if that is less; 0 if nothing could be read.
func procAvailable(root fs.FS) int64 {
	return least(root, groupHeadroom, "MemAvailable:", "MemTotal:")
}

// procTotal returns the memory of the machine, in use or not, or the least limit of the control groups if that is less.
func procTotal(root fs.FS) int64 { return least(root, groupLimit, "MemTotal:") }

// least returns the minimum of the named lines of /proc/meminfo, "Name:   123 kB", and of group for each control group, or
// 0.
func least(root fs.FS, group func(root fs.FS, dir string) (int64, bool), lines ...string) int64 {
	var limits []int64
	info, _ := fs.ReadFile(root, "proc/meminfo") // an unreadable file has no lines
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
	data, _ := fs.ReadFile(root, "proc/self/cgroup") // an unreadable file has no lines
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

// groupHeadroom returns the limit of a control group less its memory in use, reclaimable file pages not counted.
func groupHeadroom(root fs.FS, dir string) (int64, bool) {
	limit, ok := groupLimit(root, dir)
	if !ok {
		return 0, false
	}
	used, _ := groupNumber(root, dir, "memory.current", "memory.usage_in_bytes")
	stat, _ := fs.ReadFile(root, dir+"/memory.stat") // an unreadable file has no lines
	for _, name := range []string{"active_file", "inactive_file"} {
		n, _ := statLine(stat, name, 1)
		used -= n
	}
	return max(leastHeadroom, limit-max(0, used)), true
}

func groupLimit(root fs.FS, dir string) (int64, bool) {
	return groupNumber(root, dir, "memory.max", "memory.limit_in_bytes")
}

// groupNumber returns the number in the first of the named files that holds one ("max" is not a number).
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
