// Package ingest measures the ingest of a text of ratings larger than memory. Its test makes the text, ingests it
// under a memory limit that the kernel enforces, kills the process midway, and resumes it:
//
//	go test ./bench/ingest -timeout 0 -v -size 20GB -memory 512MiB -limit 640MiB -dir /var/tmp/ingest -out results/20gb
//
// The text has the format and the statistics of MovieLens 10M, in many files: copies of the same 10 million ratings
// (gdsvd generate ratings), with the users of eight countries and the films of consecutive years. So every user occurs
// again in each year, there are far more ids than in one file, no pair of user and film occurs twice, and runs of
// entries overlap and have to be merged.
//
// With -again the text is ingested once more without a break, and the two stores are compared byte by byte. The test
// writes NAME.json and NAME.md.
package ingest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
	"github.com/gdsvd/gdsvd/internal/cgroup"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

type config struct {
	dir, out, program string
	gdsvd             *harness.Program
	size              int64 // bytes of text
	memory            string
	limit             int64   // memory limit of the cgroup, in bytes
	kill              float64 // share of the text after which the ingest is killed; 0: never
	part              int64   // ratings per file
	again             bool
}

// asked holds the flags of the test.
var asked config

func init() {
	harness.SizeVar(flag.CommandLine, &asked.size, "size", "", "bytes of text (none: 100 MB, within 48 MiB)")
	flag.StringVar(&asked.memory, "memory", "512MiB", "--memory of gdsvd")
	harness.SizeVar(flag.CommandLine, &asked.limit, "limit", "640MiB", "memory of the process that the kernel allows, page cache included")
	flag.Float64Var(&asked.kill, "kill", 0.5, "share of the text after which the ingest is killed (0: not killed)")
	flag.Int64Var(&asked.part, "part", 10000054, "ratings of a file, users and films in proportion, 100000 or more")
	flag.BoolVar(&asked.again, "again", false, "ingest once more without a break and compare")
	flag.StringVar(&asked.dir, "dir", "", "existing `directory` for text and store (default: that for temporary files)")
	flag.StringVar(&asked.program, "gdsvd", "", "the `program`; built if not given")
	flag.StringVar(&asked.out, "out", "", "`name` of the tables, without .json and .md")
}

// TestIngest ingests a text larger than the memory limit, kills the ingest on the way and resumes
// it; the store has the bytes of an uninterrupted ingest.
func TestIngest(t *testing.T) {
	c, runs := asked, 0
	if c.size == 0 {
		if !longtest.On() {
			t.Skip("builds the program and makes 100 MB of text")
		}
		cgroup.ForTest(t, "gdsvd-ingest-test", 64<<20)
		c = config{size: 100e6, part: 300000, memory: "48MiB", limit: 64 << 20, kill: 0.01, again: true}
		runs = 3
	}
	c.gdsvd = harness.Open(t, c.program)
	c.gdsvd.Log = t.Output()
	c.dir = must.Get(os.MkdirTemp(c.dir, "gdsvd-ingest-"))(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(c.dir); err != nil {
			t.Error(err)
		}
	})
	r := must.Get(c.measure(t.Context()))(t)
	if c.out == "" {
		c.out = filepath.Join(t.TempDir(), "ingest")
	}
	if err := harness.Write(c.out, r, r.table()); err != nil {
		t.Error(err)
	}
	if c.again && !r.Same || r.Resumed.Runs < runs || c.kill > 0 && (r.Killed == nil || r.Resumed.Resumes != 1) || r.Group.Killed > 0 || r.Group.Peak > r.Limit+1<<20 {
		t.Errorf("%+v\n%s", r, r.table())
	}
}
