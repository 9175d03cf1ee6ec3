package memory

import (
	"runtime"
	"testing"
	"testing/fstest"
)

func TestParseSize(t *testing.T) {
	good := map[string]int64{
		"1": 1, "67108864": 64 << 20, "64MiB": 64 << 20, "64 mib": 64 << 20, "1GiB": 1 << 30, "1.5GiB": 3 << 29,
		"64M": 64 << 20, "64m": 64 << 20, "64Mi": 64 << 20, "64mib": 64 << 20, "1G": 1 << 30, "1g": 1 << 30, "1Gi": 1 << 30, "1GB": 1e9, "1gb": 1e9,
		"1.5T": 3 << 39, "2Ti": 2 << 40, "8k": 8 << 10, "8 K": 8 << 10, "800MB": 800e6, "800 kB": 800e3, "2TB": 2e12, "1TiB": 1 << 40, "12b": 12, " 1KiB ": 1024, "0.5KB": 500, "1e6": 1e6,
	}
	for s, want := range good {
		if got, err := ParseSize(s); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "MiB", "-1", "0", "0GiB", "1e40", "inf", "nan", "0x10", "1 2", "12 Gib i", "1,5GB", "64MM", "64iB", "64i", "M", "G", "64P", "64bM", "9999999TiB", "0x1p10"} {
		if got, err := ParseSize(s); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", s, got)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.00 KiB", 10 << 10: "10.0 KiB", 999 << 10: "999 KiB", 1000 << 10: "0.98 MiB",
		1 << 20: "1.00 MiB", 128 << 20: "128 MiB", 3 << 29: "1.50 GiB", 1 << 62: "4.00 EiB",
	} {
		if got := FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestProcAvailable(t *testing.T) {
	const meminfo = "MemTotal:        8000 kB\nMemFree:         1000 kB\nMemAvailable:    6000 kB\n"
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	cases := []struct {
		name string
		root fstest.MapFS
		want int64
	}{
		{"nothing to read", fstest.MapFS{}, 0},
		{"no groups", fstest.MapFS{"proc/meminfo": file(meminfo)}, 6000 << 10},
		{"version 2, no limit", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"),
		}, 6000 << 10},
		{"version 2, the parent's limit, file pages not counted", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max":   file("max\n"),
			"sys/fs/cgroup/a/memory.max":     file("2097152\n"),
			"sys/fs/cgroup/a/memory.current": file("1048576\n"),
			"sys/fs/cgroup/a/memory.stat":    file("anon 1\ninactive_file 500000\nactive_file 24288\n"),
		}, 2097152 - 1048576 + 524288},
		{"version 2 inside a container", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("1048576\n"),
		}, 1 << 20},
		{"version 1", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("5:cpu:/x\n4:memory,hugetlb:/x/y\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     file("9223372036854771712\n"),
			"sys/fs/cgroup/memory/x/y/memory.limit_in_bytes": file("4194304\n"),
			"sys/fs/cgroup/memory/x/y/memory.usage_in_bytes": file("1048576\n"),
		}, 3 << 20},
		{"a group over its limit", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("1000\n"), "sys/fs/cgroup/memory.current": file("2000\n"),
		}, leastHeadroom},
	}
	for _, c := range cases {
		if got := procAvailable(c.root); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestProcTotal(t *testing.T) {
	const meminfo = "MemTotal:        8000 kB\nMemAvailable:    6000 kB\n"
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	for _, c := range []struct {
		name string
		root fstest.MapFS
		want int64
	}{
		{"nothing to read", fstest.MapFS{}, 0},
		{"no groups", fstest.MapFS{"proc/meminfo": file(meminfo)}, 8000 << 10},
		{"the parent's limit, whatever is in use", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.max": file("2097152\n"),
			"sys/fs/cgroup/a/memory.current": file("1048576\n"),
		}, 2 << 20},
		{"version 1, no limit", fstest.MapFS{
			"proc/meminfo": file(meminfo), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n"),
		}, 8000 << 10},
	} {
		if got := procTotal(c.root); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("memory is not measured on this system")
	}
	if n := PeakRSS(); n < 1<<20 || n > 1<<40 {
		t.Errorf("PeakRSS() = %d", n)
	}
	if n := RSS(); runtime.GOOS == "linux" && (n < 1<<20 || n > PeakRSS()) {
		t.Errorf("RSS() = %d, at most %d", n, PeakRSS())
	}
	if n := Available(); n < 1<<20 {
		t.Errorf("Available() = %d", n)
	}
	if n := Total(); n < Available() {
		t.Errorf("Total() = %d, of which %d are available", n, Available())
	}
}
