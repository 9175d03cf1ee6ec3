//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

// generated are commands that make stores of many shards.
func generated(t *testing.T) map[string][]string {
	base := ingested(t, synth.Ratings{Users: 400, Items: 300, Ratings: 30000, Seed: 1})
	return map[string][]string{
		"kron":     {"generate", "kron", "-q", "--base", base, "--rows", "12", "--cols", "12", "--nnz", "100", "--shard-size", "256KiB"},
		"spectrum": {"generate", "spectrum", "-q", "--rows", "120000", "--cols", "4000", "--shard-size", "1MiB"},
	}
}

// sameStore compares all files of two stores.
func sameStore(t *testing.T, want, got string) {
	t.Helper()
	if a, b := names(t, want), names(t, got); !slices.Equal(a, b) {
		t.Fatalf("files %v, want %v", b, a)
	}
	for _, name := range names(t, want) {
		same(t, name, filepath.Join(want, name), filepath.Join(got, name))
	}
}

// finishedShards are the shards that an unfinished store counts, or all of one that is complete but for its name; 0 if there is none.
func finishedShards(t *testing.T, store string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(store+".partial", "UNFINISHED.json"))
	if err != nil {
		if _, err := os.Stat(filepath.Join(store+".partial", "MANIFEST.json")); err != nil {
			return 0
		}
		shards, _ := filepath.Glob(filepath.Join(store+".partial", "shard-*"))
		return len(shards)
	}
	var journal struct{ Shards int }
	if err := json.Unmarshal(b, &journal); err != nil {
		t.Fatal(err)
	}
	return journal.Shards
}

// A store whose making is killed at any moment and resumed, again and again, has
// the bytes of one that was left alone, and no finished shard is lost.
func TestKilledGenerateGoesOn(t *testing.T) {
	rounds := 4
	if raceDetector {
		rounds = 1 // processes under it are ten times slower
	}
	for kind, args := range generated(t) {
		want := filepath.Join(t.TempDir(), "m.csr")
		start := time.Now()
		if out, err := process(t, append(slices.Clone(args), "-o", want)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		whole := time.Since(start)
		r := rand.New(rand.NewPCG(9, 1))
		further := 0
		for range rounds {
			work := t.TempDir()
			store := filepath.Join(work, "m.csr")
			args := append(slices.Clone(args), "-o", store, "--resume")
			shards := 0
			for kill := range 5 {
				after := time.Duration(r.Float64() * 0.7 * float64(whole))
				if kill%2 == 0 {
					_ = killAfter(t, after, args...)
				} else { // on a busy machine no shard may be finished by then
					_ = killWhen(t, func() bool { return finishedShards(t, store) > shards }, args...)
				}
				if _, err := os.Stat(store); err == nil {
					break
				}
				n := finishedShards(t, store)
				if n < shards {
					t.Fatalf("%s: %d shards are finished, of %d before", kind, n, shards)
				}
				if n > shards {
					further++
				}
				shards = n
			}
			if _, err := os.Stat(store); err != nil {
				must(t, args...)
			}
			if left := names(t, work); !slices.Equal(left, []string{"m.csr"}) {
				t.Fatalf("%s: at the end there are %v", kind, left)
			}
			sameStore(t, want, store)
		}
		t.Logf("%s: %d kills came after further progress; %v without them", kind, further, whole)
		if further == 0 {
			t.Errorf("%s: no kill met a finished shard: the test does not test", kind)
		}
	}
}

// Ctrl-C: 130 and what to do; what is unfinished is neither lost nor taken for another's.
func TestUnfinishedGenerate(t *testing.T) {
	for kind, args := range generated(t) {
		work := t.TempDir()
		store := filepath.Join(work, "m.csr")
		args = append(args, "-o", store)
		cmd := process(t, args...)
		stderr := new(bytes.Buffer)
		cmd.Stderr = stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for start := time.Now(); finishedShards(t, store) == 0; time.Sleep(time.Millisecond) {
			if time.Since(start) > time.Minute {
				t.Fatal("no shard is finished")
			}
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		told := "interrupted; " + store + ".partial holds what is done: --resume goes on from there"
		if code := cmd.ProcessState.ExitCode(); code != ui.ExitInterrupted || !strings.Contains(stderr.String(), told) {
			t.Fatalf("%s: exit %d\n%s", kind, code, stderr)
		}
		fails(t, ui.ExitError, "holds an unfinished store: --resume goes on from it, --force begins anew", args...)
		fails(t, ui.ExitError, `cannot be resumed: it had .*"?seed"?.* \(--force begins anew\)`, append(args, "--resume", "--seed", "3")...)
		fails(t, ui.ExitError, "cannot be resumed: it had shard size", append(args, "--resume", "--shard-size", "1KiB")...)
		fails(t, ui.ExitError, "holds an unfinished store", "ingest", "-q", ratings(t, tall), "-o", store)
		before := finishedShards(t, store)
		for _, flags := range [][]string{nil, {"--resume"}, {"--force"}} {
			svd := append([]string{"svd", "-q", ingested(t, tall), "-k", "2", "-o", store}, flags...)
			fails(t, ui.ExitError, `m\.csr\.partial holds UNFINISHED\.json, which is not of a result: finish the store .* or give another -o`, svd...)
		}
		damage(t, filepath.Join(store+".partial", "shard-000000.csr"))
		fails(t, ui.ExitError, "cannot be resumed: shard-000000.csr: header: ", append(args, "--resume")...)
		damage(t, filepath.Join(store+".partial", "shard-000000.csr"))
		if before != finishedShards(t, store) {
			t.Errorf("%s: what was refused has changed the unfinished store", kind)
		}
		must(t, append(args, "--resume")...)
		must(t, "check", "-q", store)
		made := must(t, "info", store)
		resumesNothing(t, store, append(args, "--resume")...)
		resumesNothing(t, store, append(args, "--resume", "--shard-size", "4KiB")...) // files, not the matrix
		fails(t, ui.ExitError, `m.csr: file (already )?exists \(--force replaces it\)`, args...)
		fails(t, ui.ExitError, `m.csr: file (already )?exists: a finished store, but another one: it had .* this one has .* \(--force replaces it\)`, append(args, "--resume", "--seed", "3")...)
		if text := must(t, "info", store); text != made {
			t.Errorf("%s: the finished store has become\n%s", kind, text)
		}
		must(t, append(args, "--resume", "--force", "--seed", "3")...)
		if must(t, "info", store) == made {
			t.Errorf("%s: --force has not replaced the store", kind)
		}
		if left := names(t, work); !slices.Equal(left, []string{"m.csr"}) {
			t.Errorf("%s: at the end there are %v", kind, left)
		}
	}
}

// What a run of svd that died has left where a store is made, or a result, is no
// more in the way than where it had begun. What may be somebody's is not removed by svd.
func TestLeftoversOfSVD(t *testing.T) {
	store := ingested(t, tall)
	leave := func(at string, names ...string) {
		if err := os.Mkdir(at+".partial", 0o777); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(at+".partial", name), []byte("left"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	work := t.TempDir()
	for name, args := range map[string][]string{
		"ingest":   {"ingest", "-q", ratings(t, tall)},
		"generate": {"generate", "spectrum", "-q", "--rows", "300", "--cols", "200"},
		"resumed":  {"generate", "spectrum", "-q", "--rows", "300", "--cols", "200", "--resume"},
		"svd":      {"svd", "-q", store, "-k", "2"},
	} {
		out := filepath.Join(work, name)
		leave(out, "U.npy", "events.jsonl", "vectors-0", "vectors-11", "checkpoint.half")
		must(t, append(args, "-o", out)...)
	}
	if left := names(t, work); !slices.Equal(left, []string{"generate", "ingest", "resumed", "svd"}) {
		t.Errorf("at the end there are %v", left)
	}
	for _, name := range []string{"thesis.txt", "vectors-final", "MANIFEST.json"} {
		work := t.TempDir()
		leave(filepath.Join(work, "out"), "U.npy", name)
		fails(t, ui.ExitError, "out.partial holds "+name+", ", "svd", "-q", store, "-k", "2", "-o", filepath.Join(work, "out"))
		if kept := names(t, filepath.Join(work, "out.partial")); !slices.Contains(kept, name) || len(kept) != 2 {
			t.Errorf("%v are left", kept)
		}
	}
}

// A writer of a ratings file that was killed leaves nothing for ever, and one that
// is at work keeps others away.
func TestLeftoversOfGenerateRatings(t *testing.T) {
	work := t.TempDir()
	file := filepath.Join(work, "r.dat")
	for _, name := range []string{file + ".partial", file + ".lock"} {
		if err := os.WriteFile(name, []byte("left"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"generate", "ratings", "-q", "-o", file, "--users", "30", "--items", "20", "--ratings", "600"}
	must(t, args...)
	if left := names(t, work); !slices.Equal(left, []string{"r.dat"}) {
		t.Errorf("at the end there are %v", left)
	}
	lock, err := vfs.OS().Lock(file + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	fails(t, ui.ExitError, "r.dat: locked by another process that is writing it", append(args, "--force")...)
}

// damage changes a bit of the header of a shard; a second time, back.
func damage(t *testing.T, name string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[20] ^= 1
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}
