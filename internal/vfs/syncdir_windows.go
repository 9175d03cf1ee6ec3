package vfs

// syncDir has nothing to do: Windows has no handle to sync a directory with,
// NTFS journals its names.
func syncDir(string) error { return nil }
