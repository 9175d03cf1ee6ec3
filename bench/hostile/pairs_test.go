package hostile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var pairs = Attack{
	Name: "pairs",
	About: "two processes that write one target at once, the second at a random moment of the first: ingest, append, svd, complete and generate, with --force, with --resume: " +
		"each does its work whole or is refused in one line that names the target, and what is there at the end is what those that ended well make one after the other",
	Short: 24, Long: 1000,
	Run: func(t *Trial) {
		if t.IntN(3) == 0 {
			t.appends()
			return
		}
		first, out := t.draw("pairs")
		second := first
		one, two := first.saved(out), first.saved(out)
		if t.IntN(2) == 0 {
			all := append(t.works(t.Long), work{
				name: "complete", compare: []string{"U.npy", "V.npy"}, saves: []string{"--checkpoint-every", "1ms"},
				args: []string{"complete", filepath.Join(t.inputs(), "m.csr"), "-k", "3", "--lambda", "5"},
			})
			second = t.refer(all[t.IntN(len(all))])
			one, two = first.command(out, "--force"), second.command(out, "--force")
		}
		t.Kind = "pairs " + first.name
		p, q := t.both(one, two, first.took)
		var wants []*work
		if p.code() == 0 {
			wants = append(wants, first)
		}
		if q.code() == 0 {
			wants = append(wants, second)
		}
		t.either(out, wants)
	},
}

// both runs two jobs, the second from a random moment of the first on, which takes took alone. At
// least one of them ends well, and the other one ends well or names the target in its refusal.
func (t *Trial) both(one, two job, took time.Duration) (p, q *process) {
	p = t.start(one)
	p.endsWithin(t, time.Duration(t.Float64()*float64(took)))
	q = t.start(two)
	for _, r := range []*process{p, q} {
		check(t.wait(r))
		err := r.refusal(1)
		if !isRefused(err) {
			check(err)
		} else if text := err.Error(); !strings.Contains(text, "out") {
			check(wrongf("%s: it does not name the target: %s", r.job, head(text)))
		}
	}
	if p.code() != 0 && q.code() != 0 {
		check(wrongf("neither has ended well: %s: %s: %s", p.job, head(p.stderr.String()), head(q.stderr.String())))
	}
	return p, q
}

// either checks that the target equals what one of the works makes alone, with nothing beside it.
func (t *Trial) either(out string, wants []*work) {
	var err error
	for _, w := range wants {
		if err = outcome(func() { w.same(out) }); err == nil {
			return
		}
	}
	check(err)
}

// appends adds two files to one store at once: the store has the entries of the appends that ended well, each once.
func (t *Trial) appends() {
	t.Kind = "pairs append"
	in := t.fixture("appends", func(t *Trial) {
		text := strings.SplitAfter(string(need(os.ReadFile(filepath.Join(t.inputs(), "r.dat")))), "\n")
		text = slices.DeleteFunc(text, func(line string) bool { return line == "" })
		n := len(text) / 3
		for i, name := range []string{"base", "a", "b"} {
			check(os.WriteFile(t.path(name+".dat"), []byte(strings.Join(text[i*n:(i+1)*n], "")), 0o666))
		}
		t.must(gdsvd("ingest", "-q", t.path("base.dat"), "-o", t.path("base.csr")))
		for _, order := range []string{"a", "b", "ab", "ba"} {
			copyTree(t.path("base.csr"), t.path(order+".csr"))
			for _, name := range order {
				t.must(gdsvd("append", "-q", t.path(order+".csr"), t.path(string(name)+".dat")))
			}
		}
	})
	check(os.Mkdir(t.path("work"), 0o777))
	out := filepath.Join(t.path("work"), "out")
	copyTree(filepath.Join(in, "base.csr"), out)
	add := func(name string) job { return gdsvd("append", "-q", out, filepath.Join(in, name+".dat")) }
	p, q := t.both(add("a"), add("b"), 60*time.Millisecond)
	order := []string{"ab", "ba"}
	switch {
	case p.code() != 0:
		order = []string{"b"}
	case q.code() != 0:
		order = []string{"a"}
	}
	var wants []*work
	for _, name := range order {
		wants = append(wants, &work{name: "append of " + name, want: filepath.Join(in, name+".csr")})
	}
	t.either(out, wants)
}
