package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestDamageIsFoundWhenItIsRead: a command that reads damage exits with 3, names file and bytes, and writes nothing.
func TestDamageIsFoundWhenItIsRead(t *testing.T) {
	const piece = 1 << 20
	n := longtest.Pick(66_000, 2_000) // users and items; the short form damages the first piece only
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var text bytes.Buffer // of rank 2: all users rate one item, one user rates all items
	fmt.Fprintln(&text, "user,item,rating")
	for i := range n {
		fmt.Fprintf(&text, "u%05d,i00000,%d\n", i, 1+i%5)
		if i > 0 {
			fmt.Fprintf(&text, "u00000,i%05d,%d\n", i, 1+i%3)
		}
	}
	must.Do(t, os.WriteFile(at("a.csv"), text.Bytes(), 0o666))
	must.Do(t, os.WriteFile(at("new.csv"), fmt.Appendf(nil, "user,item,rating\nx,i00001,3\nx,i%05d,5\n", n-1), 0o666))
	succeeds(t, "ingest", "-q", at("a.csv"), "-o", at("a.csr"))
	succeeds(t, "svd", "-q", at("a.csr"), "-k", "2", "--view", "center=columns", "-o", at("a.svd"))
	succeeds(t, "svd", "-q", at("a.csr"), "-k", "2", "--seed", "1", "-o", at("b.svd"))
	succeeds(t, "project", "-q", at("a.svd"), at("a.csr"), "-o", at("p"))
	out := at("out")
	const both, view = "U.npy V.npy rows.ids cols.ids", " view-1-center-mean.npy"
	for _, c := range []struct {
		reads string // files whose pieces are all read
		of    string // the directory of these files
		args  string
	}{
		{both, "a.svd", "recommend A --store S --rows u00001,LAST -n 1 -o OUT.csv"},
		{"V.npy cols.ids", "a.svd", "similar A --col i00001 -n 2"},
		{"U.npy rows.ids", "a.svd", "similar A --row u00001 -n 2"},
		{"V.npy cols.ids", "a.svd", "topics A -n 2"},
		{"U.npy rows.ids", "a.svd", "export A --what US --format csv -o OUT"},
		{"V.npy", "a.svd", "export A --what V --format npy -o OUT"},
		{both, "a.svd", "report A --no-store -o OUT"},
		{"V.npy cols.ids" + view, "a.svd", "project A N -o OUT"},
		{"V.npy cols.ids", "a.svd", "align A --to B --what V -o OUT"},
		{"V.npy cols.ids", "a.svd", "align B --to A --what V -o OUT"},
		{"V.npy", "a.svd", "svd S -k 2 --init A -o OUT"},
		{both + view + " sigma.npy events.jsonl", "a.svd", "check A"},
		{"X.npy rows.ids", "p", "export P --what X --format tsv -o OUT"},
		{"X.npy rows.ids", "p", "check P"},
	} {
		args := strings.Fields(strings.NewReplacer(" A", " "+at("a.svd"), " B", " "+at("b.svd"), " P", " "+at("p"), " S", " "+at("a.csr"), " N", " "+at("new.csv"), " OUT", " "+out, "LAST", fmt.Sprintf("u%05d", n-1)).Replace(c.args))
		for _, file := range strings.Fields(c.reads) {
			name := filepath.Join(dir, c.of, file)
			good := must.Get(os.ReadFile(name))(t)
			for first := 0; first < len(good); first += piece {
				end := min(first+piece, len(good))
				bad := bytes.Clone(good)
				bad[first+(end-first)*2/3] ^= 1 // a low bit of a number, which no printed result would show
				must.Do(t, os.WriteFile(name, bad, 0o666))
				bytesOf := fmt.Sprintf("bytes %d to %d ", first, end)
				if !strings.HasSuffix(file, ".npy") {
					bytesOf = "(bytes|line) " // text files have one checksum per file
				}
				o := gdsvd(t, append(args, "-q")...)
				if said := o.stdout + o.stderr; o.code != ui.ExitCorrupt || !strings.Contains(said, name) || !regexp.MustCompile(bytesOf).MatchString(said) {
					t.Errorf("%s, %s damaged: exit %d, want %s\n%.500s\n%s", c.args, file, o.code, bytesOf, o.stdout, o.stderr)
				}
				if left, _ := filepath.Glob(at("*out*")); len(left) > 0 {
					t.Errorf("%s, %s damaged: there is %v", c.args, file, left)
					_ = os.RemoveAll(out)
				}
				if !longtest.On() {
					break
				}
			}
			must.Do(t, os.WriteFile(name, good, 0o666))
		}
	}
}
