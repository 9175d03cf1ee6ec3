// Package ingest measures how a text of ratings larger than any memory is ingested. Its test makes the text, ingests it
// under a memory limit that the kernel enforces, kills the process midway, and resumes it:
//
//	go test ./bench/ingest -timeout 0 -v -size 20GB -memory 512MiB -limit 640MiB -dir /var/tmp/ingest -out results/20gb
//
// The text is in the format of MovieLens 10M and of its statistics, in many files: 10 million ratings (gdsvd generate ratings) over and
// over, with the users of eight countries and the films of one year after the other. So every user comes up again in each year, ids are
// far more than in one part, no pair of user and film is there twice, and runs of entries overlap: they have to be merged.
//
// With -again the text is ingested once more without a break, and the two stores are compared byte by byte. It writes NAME.json and NAME.md.
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
	size              int64 // of the text
	memory            string
	limit             int64   // of the group of processes
	kill              float64 // when this share of the text has been read
	part              int64   // ratings of a file
	again             bool
}

// asked is what the flags of the test say.
var asked config

func init() {
	harness.SizeVar(flag.CommandLine, &asked.size, "size", "", "bytes of text (none: 100 MB, within 48 MiB)")
	flag.StringVar(&asked.memory, "memory", "512MiB", "--memory of gdsvd")
	harness.SizeVar(flag.CommandLine, &asked.limit, "limit", "640MiB", "memory of the process that the kernel allows, page cache included")
	flag.Float64Var(&asked.kill, "kill", 0.5, "kill the ingest when so much of the text has been read (0: not)")
	flag.Int64Var(&asked.part, "part", 10000054, "ratings of a file, users and films in proportion, 100000 or more")
	flag.BoolVar(&asked.again, "again", false, "ingest once more without a break and compare")
	flag.StringVar(&asked.dir, "dir", "", "existing `directory` for text and store (default: that for temporary files)")
	flag.StringVar(&asked.program, "gdsvd", "", "the `program`; built if not given")
	flag.StringVar(&asked.out, "out", "", "`name` of the tables, without .json and .md")
}

// A text that does not fit into the limit is ingested, killed on the way and resumed; the store is that of an ingest
// without a break.
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
