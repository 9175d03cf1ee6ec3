package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/csr"
)

// versionInfo is what gdsvd version prints.
type versionInfo struct {
	Version     string `json:"version"`
	Revision    string `json:"revision"` // of the version control; empty if unknown
	Modified    bool   `json:"modified"` // the tree had changes
	Go          string `json:"go"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	StoreFormat int    `json:"store_format"`

	time time.Time // of the revision; zero if unknown
}

func readVersion() versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, StoreFormat: csr.Version}
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
			v.time, _ = time.Parse(time.RFC3339, s.Value) // without, the version says what there is to say
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String says which version this is.
func (v versionInfo) String() string {
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

// date is the day of the revision, "" if that is unknown.
func (v versionInfo) date() string {
	if v.time.IsZero() {
		return ""
	}
	return v.time.UTC().Format(time.DateOnly)
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: `  gdsvd version --json`,
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if a.json {
				return a.printJSON(v)
			}
			_, err := fmt.Fprintf(a.stdout, "gdsvd version %v\n%s %s/%s, store format %d\n", v, v.Go, v.OS, v.Arch, v.StoreFormat)
			return err
		},
	}
}
