package harness

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Commit names the commit of the source in the current directory, and says if files under
// version control differ from it; "unknown" outside a checkout.
func Commit() string {
	out, err := exec.Command("git", "describe", "--always", "--abbrev=12", "--dirty= with changes", "--exclude=*").Output()
	if name := strings.TrimSpace(string(out)); err == nil && name != "" {
		return name
	}
	return "unknown"
}

// Machine names the processors of this machine, their number and their model.
func Machine() string { return fmt.Sprintf("%d processors (%s)", runtime.NumCPU(), Processor()) }

// Processor is the model of the processor where Linux tells it, otherwise the architecture.
func Processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // without it the model is unknown
	for line := range strings.Lines(string(info)) {
		if model, found := strings.CutPrefix(line, "model name"); found {
			return strings.Trim(model, "\t :\n")
		}
	}
	return runtime.GOARCH
}
