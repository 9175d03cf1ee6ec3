package hostile

import (
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

var pipes = Attack{
	Name:  "pipes",
	About: "a file of a store, a result or a checkpoint, or a configuration file, is a FIFO, /dev/zero, a directory or a loop of links: refused in one line, not read without end",
	Short: 24, Long: 400,
	Run: func(t *Trial) {
		t.Kind = "pipe in place of a file"
		_, prefix := t.stores(t.any)
		store, out := t.path("m.csr"), t.path("old.svd")
		copyTree(prefix+".csr", store)
		copyTree(prefix+".svd", out)
		var j job
		hit := ""
		codes := []int{1, 2, 3}
		svd := []string{"svd", "-q", store, "-k", "2", "-o", t.path("out")}
		kind := pick(t, "store", "store", "result", "result", "checkpoint", "configuration", "input")
		t.Kind = "pipe in place of " + kind
		switch kind {
		case "store":
			hit = filepath.Join(store, pick(t, names(store)...))
			j = pick(t, gdsvd("check", "-q", store), gdsvd("info", "-q", store), gdsvd("info", "-q", store, "--ids", "rows"), gdsvd(svd...), gdsvd("check", "-q", "--quick", store))
		case "result":
			hit = filepath.Join(out, pick(t, "result.json", "U.npy", "V.npy", "sigma.npy", "events.jsonl"))
			j = pick(t, gdsvd("info", "-q", out), gdsvd("check", "-q", out), gdsvd(append(svd, "--init", out)...), gdsvd("svd", "-q", store, "-k", "2", "-o", out, "--resume"),
				gdsvd("svd", "-q", store, "-k", "2", "-o", out, "--force"))
		case "checkpoint":
			stopped := []string{"svd", "-q", store, "-k", "2", "-o", t.path("out"), "--checkpoint-every", "1ms"}
			if short := t.solved(gdsvd(append(stopped, "--max-passes", "3")...)); !short {
				return
			}
			hit = filepath.Join(t.path("out"), pick(t, "checkpoint", "checkpoint.jsonl"))
			j = gdsvd(append(stopped, "--resume")...)
		case "configuration":
			hit = t.path("flags.json")
			j = gdsvd(append(svd, "--config", hit)...)
		case "input":
			hit = t.path("input.csv")
			// A directory, not odd: a FIFO with a writer is a valid way to pass a text.
			check(os.Mkdir(hit, 0o777))
			_, err := t.expect(gdsvd("ingest", "-q", hit, "-o", t.path("new.csr")), codes...)
			check(err)
			return
		}
		t.commands = append(t.commands, filepath.Base(hit)+": "+t.odd(hit))
		t.limit = min(t.limit, 20*time.Second)
		j.shell = "ulimit -v 8388608" // KiB: a process that reads /dev/zero to its end exceeds it
		_, err := t.expect(j, codes...)
		check(err)
	},
}

// odd replaces a file by something that is not a regular file, and returns what.
func (t *Trial) odd(name string) (what string) {
	check(os.RemoveAll(name))
	switch t.IntN(5) {
	case 0:
		check(os.Mkdir(name, 0o777))
		return "a directory"
	case 1:
		check(os.Symlink("/dev/zero", name))
		return "/dev/zero"
	case 2:
		check(os.Symlink(filepath.Base(name), name))
		return "a loop of links"
	}
	if err := exec.Command("mkfifo", name).Run(); err != nil {
		check(skipf("there are no named pipes here: %v", err))
	}
	return "a FIFO"
}
