package hostile

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

var flips = Attack{
	Name: "flips",
	About: "one file of a store, a result, a checkpoint, an unfinished ingest or store, or a compressed input is changed (a bit, a byte, zeros, a copied or a cut part, " +
		"something appended) or removed: check finds it, and no command takes it for the truth",
	Short: 60, Long: 12000,
	Run: func(t *Trial) {
		switch t.IntN(8) {
		case 0, 1, 2:
			t.flipStore()
		case 3:
			t.flipResult()
		case 4, 5:
			t.flipCheckpoint()
		case 6:
			t.flipUnfinished()
		default:
			t.flipInput()
		}
	},
}

// flip damages a file, records how, and sets the kind of the trial.
func (t *Trial) flip(kind, file string) (how string, gone bool) {
	t.Kind = kind
	how, gone, err := t.damage(file)
	check(err)
	t.commands = append(t.commands, filepath.Base(file)+": "+how)
	return how, gone
}

// stores makes small stores of every coding, with ids of both kinds, in several shards, one with
// truth.json, and records what commands print of them. It returns the name picked by which and the
// path prefix of its files.
func (t *Trial) stores(which func(all ...string) string) (name, prefix string) {
	all := []string{"dict4", "constant", "dict8", "integer", "float32", "float64", "truth"}
	dir := t.fixture("stores", func(t *Trial) {
		values := map[string]func() float64{
			"dict4":    func() float64 { return float64(t.between(1, 10)) / 2 },
			"constant": func() float64 { return 1 },
			"dict8":    func() float64 { return float64(t.between(1, 200)) },
			"integer":  func() float64 { return float64(t.between(1, 2000)) },
			"float32":  func() float64 { return float64(float32(t.NormFloat64())) },
			"float64":  t.NormFloat64,
		}
		for _, name := range all {
			store := t.path(name + ".csr")
			if name == "truth" {
				t.must(gdsvd("generate", "spectrum", "-q", "--rows", "700", "--cols", "90", "--rank", "40", "--shard-size", "8KiB", "-o", store))
			} else {
				row, col := word, word
				if name == "dict8" {
					row = func(i int) string { return strconv.Itoa(i * i) }
				}
				m := named{fromDense(name, t.place(500, 60, 0.2, values[name])), row, col}
				t.ingestIDs(m, name, "--shard-size", "2KiB")
			}
			t.must(gdsvd("svd", "-q", store, "-k", "3", "--method", "krylov", "--block", "2", "-o", t.path(name+".svd")))
			for _, side := range []string{"rows", "cols"} {
				p := t.must(gdsvd("info", "-q", store, "--ids", side))
				check(os.WriteFile(t.path(name+"."+side), p.stdout.Bytes(), 0o666))
			}
		}
	})
	name = which(all...)
	return name, filepath.Join(dir, name)
}

// any returns a random one of the choices.
func (t *Trial) any(choices ...string) string { return pick(t, choices...) }

func (t *Trial) flipStore() {
	t.Kind = "flip of a store"
	name, prefix := t.stores(t.any)
	store := t.path("m.csr")
	copyTree(prefix+".csr", store)
	file := pick(t, names(store)...)
	kind := "flip of a store: " + file
	if filepath.Ext(file) == ".csr" {
		kind = "flip of a store: shard"
	}
	how, gone := t.flip(kind, filepath.Join(store, file))
	codes := []int{3}
	if gone || file == "MANIFEST.json" { // with another format name the directory is not a store
		codes = []int{1, 3}
	}
	_, checked := t.expect(gdsvd("check", "-q", store), codes...)
	if checked == nil && !(gone && file == "truth.json") { // a store is complete without truth.json
		check(wrongf("%s of a store with %s values, %s: check finds nothing", file, name, how))
	}
	var used error
	switch t.IntN(3) {
	case 0:
		if _, used = t.expect(gdsvd("svd", "-q", store, "-k", "3", "--method", "krylov", "--block", "2", "-o", t.path("out")), codes...); used == nil {
			check(vectorsSame(prefix+".svd", t.path("out"), gdsvd("svd", file+" "+how)))
		}
	case 1:
		side := pick(t, "rows", "cols")
		var p *process
		p, used = t.expect(gdsvd("info", "-q", store, "--ids", side), codes...)
		if used == nil && !slices.Equal(need(os.ReadFile(prefix+"."+side)), p.stdout.Bytes()) {
			check(wrongf("%s, %s: info prints other ids", file, how))
		}
	case 2:
		_, used = t.expect(gdsvd("info", "-q", store), codes...)
	}
	check(cmp.Or(used, checked))
}

// flipResult damages a result and runs check, and info or a start from it.
func (t *Trial) flipResult() {
	t.Kind = "flip of a result"
	_, prefix := t.stores(t.any)
	out := t.path("old.svd")
	copyTree(prefix+".svd", out)
	file := pick(t, "sigma.npy", "U.npy", "V.npy", "result.json", "events.jsonl")
	how, gone := t.flip("flip of a result: "+file, filepath.Join(out, file))
	codes := []int{3}
	if gone {
		codes = []int{1, 3}
	}
	_, checked := t.expect(gdsvd("check", "-q", out), codes...)
	if checked == nil {
		check(wrongf("%s of a result, %s: check finds nothing", file, how))
	}
	var used error
	if t.IntN(2) == 0 {
		_, used = t.expect(gdsvd("info", "-q", out), 1, 3)
	} else {
		_, used = t.expect(gdsvd("svd", "-q", prefix+".csr", "-k", "4", "--init", out, "-o", t.path("out")), 1, 3)
		if used == nil {
			leading(prefix+".svd", t.path("out"))
		}
	}
	check(cmp.Or(used, checked))
}

// leading compares the values of a converged result with those of an undamaged one.
func leading(undamaged, out string) {
	var want, got result
	check(readJSON(filepath.Join(undamaged, "result.json"), &want))
	if err := readJSON(filepath.Join(out, "result.json"), &got); err != nil {
		check(wrongf("%v", err))
	}
	for i, s := range want.Sigma {
		if i >= len(got.Sigma) || !(abs(got.Sigma[i]-s) <= 2e-8*want.Sigma[0]) {
			check(wrongf("--init from a damaged result: σ %v, without %v", got.Sigma, want.Sigma))
		}
	}
}

func abs(x float64) float64 { return max(x, -x) }

// flipInput damages a compressed input.
func (t *Trial) flipInput() {
	t.Kind = "flip of a gzip input"
	w := t.refer(t.works(false)[1])
	parts := need(filepath.Glob(filepath.Join(t.inputs(), "part*")))
	args := []string{"ingest", "-q", "-o", t.path("out")}
	hit := 1 + 2*t.IntN(len(parts)/2) // every second part is compressed
	copied := t.path(filepath.Base(parts[hit]))
	copyTree(parts[hit], copied)
	how, _ := t.flip(t.Kind, copied)
	_, err := t.expect(gdsvd(slices.Concat(args, parts[:hit], []string{copied}, parts[hit+1:])...), 1, 2)
	check(err)
	// Some bits of the gzip header have no meaning: the matrix must be unchanged. The manifests may name other inputs.
	var a, b struct{ Fingerprint string }
	check(readJSON(filepath.Join(w.want, "MANIFEST.json"), &a))
	if err := readJSON(filepath.Join(t.path("out"), "MANIFEST.json"), &b); err != nil || a != b {
		check(wrongf("gzip, %s: taken without a word: another matrix", how))
	}
}

// sameEvents compares events.jsonl without the measurements of the process. The first events may be
// missing if said, the output of the run, has announced it.
func sameEvents(want, got, said string) {
	a := need(readEvents(want))
	b, err := readEvents(got)
	if err != nil {
		check(wrongf("%v", err))
	}
	if !slices.Equal(a, b) && !(strings.Contains(said, "will lack passes") && len(b) < len(a) && slices.Equal(a[len(a)-len(b):], b)) {
		check(wrongf("events.jsonl has other events than without a break, %d of %d", len(b), len(a)))
	}
}

// flipCheckpoint damages the checkpoint of an svd, which is then resumed.
func (t *Trial) flipCheckpoint() {
	method := pick(t, "krylov", "block", "gd", "power", "nesterov", "polyak", "nesterov-general")
	file := pick(t, "checkpoint", "checkpoint", "checkpoint.jsonl")
	t.Kind = "flip of " + file
	_, prefix := t.stores(func(all ...string) string { return all[0] })
	run := func(out string, more ...string) job {
		return gdsvd(append([]string{"svd", "-q", prefix + ".csr", "-k", "3", "--method", method, "-o", out, "--checkpoint-every", "1ms", "--tol", "1e-6"}, more...)...)
	}
	made := t.fixture("checkpoint-"+method, func(t *Trial) {
		t.must(run(t.path("want")))
		if short := t.solved(run(t.path("out"), "--max-passes", "6")); !short {
			check(wrongf("%s: it ends within 6 passes", method))
		}
		copyTree(t.path("out"), t.path("again"))
		t.must(run(t.path("again"), "--resume"))
		check(vectorsSame(t.path("want"), t.path("again"), run("again", "--resume")))
		sameEvents(t.path("want"), t.path("again"), "")
	})
	out := t.path("out")
	copyTree(filepath.Join(made, "out"), out)
	how, _ := t.flip(t.Kind, filepath.Join(out, file))
	resume := run(out, "--resume")
	resume.args = slices.DeleteFunc(resume.args, func(a string) bool { return a == "-q" }) // warnings are judged
	p := t.run(resume)
	if p.code() != 0 {
		_, err := t.expect(run(out, "--resume"), 1, 3)
		check(err)
	}
	check(vectorsSame(filepath.Join(made, "want"), out, gdsvd("svd --resume with", file, how)))
	sameEvents(filepath.Join(made, "want"), out, p.stderr.String())
}

// flipUnfinished damages a file of a killed ingest, which is then resumed.
func (t *Trial) flipUnfinished() {
	t.Kind = "flip of something unfinished"
	w := t.refer(t.works(false)[2]) // the ingest that sorts on the disk
	t.Kind = "flip in an unfinished " + w.name
	left := t.fixture("unfinished-"+filepath.Base(filepath.Dir(w.want)), func(t *Trial) {
		for later := range 3 {
			t.leave(w, t.path(strconv.Itoa(later)), time.Duration(later)*w.took/5)
		}
	})
	copyTree(filepath.Join(left, strconv.Itoa(t.IntN(3))), t.path("work"))
	found := slices.DeleteFunc(files(t.path("work")), func(path string) bool { return filepath.Ext(path) == ".lock" })
	if len(found) == 0 {
		check(skipf("it was killed too soon or too late"))
	}
	file := pick(t, found...)
	how, _ := t.flip(t.Kind, file)
	out := filepath.Join(t.path("work"), "out")
	_, err := t.expect(w.saved(out), 1, 3)
	check(err)
	if differ := outcome(func() { w.same(out) }); differ != nil {
		// Only check reads the content of finished blocks.
		_, err := t.expect(gdsvd("check", "-q", out), 3)
		check(cmp.Or(err, wrongf("%s, %s: resumed without a word, and check finds nothing: %v", filepath.Base(file), how, differ)))
	}
}

// leave starts a work in a new directory and kills it later, counted from the moment it has
// something to resume from.
func (t *Trial) leave(w *work, dir string, later time.Duration) {
	out := filepath.Join(dir, "out")
	saved := func() bool {
		return exists(filepath.Join(out+".spool", "journal"))
	}
	for range 20 {
		check(os.RemoveAll(dir))
		check(os.Mkdir(dir, 0o777))
		p := t.start(w.saved(out))
		for over := false; !over; {
			select {
			case <-p.ended:
				over = true
			case <-t.ctx.Done():
				p.kill()
				check(t.ctx.Err())
			case <-time.After(time.Millisecond):
				over = saved()
			}
		}
		p.endsWithin(t, later)
		if p.kill() && saved() {
			return
		}
		later /= 2
	}
	check(wrongf("%s: it leaves nothing to go on from", w.name))
}
