package ui

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/gdsvd/gdsvd/csr"
)

// Version describes the build of the program.
type Version struct {
	Version     string `json:"version"`      // version of the program
	Revision    string `json:"revision"`     // revision in version control; empty if unknown
	Modified    bool   `json:"modified"`     // whether the working tree had uncommitted changes
	Go          string `json:"go"`           // version of Go that built the program
	OS          string `json:"os"`           // operating system
	Arch        string `json:"arch"`         // architecture
	StoreFormat int    `json:"store_format"` // version of the format of stores

	time time.Time // of the revision; zero if unknown
}

func ReadVersion() Version {
	v := Version{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, StoreFormat: csr.Version}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.time, _ = time.Parse(time.RFC3339, s.Value) // without it the version has no date
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v Version) String() string {
	text := v.Version
	if v.Revision != "" {
		text += fmt.Sprintf(" (%.12s", v.Revision)
		if v.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return text
}

// Date returns the day of the revision, "" if it is unknown.
func (v Version) Date() string {
	if v.time.IsZero() {
		return ""
	}
	return v.time.UTC().Format(time.DateOnly)
}
