package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
)

// sniffed lists inputs for which the command printed by sniff must make the same store.
var sniffed = []struct {
	name  string
	files []string
	args  []string
}{
	{"MovieLens", []string{"1::10::3.5::978300760\n2::10::4::978300761\n"}, nil},
	{"u.data", []string{"1\t10\t3\t881250949\n2\t10\t4\t881250949\n"}, nil},
	{"u.data by name", []string{"1\t10\t3\t881250949\n2\t10\t4\t881250949\n"}, []string{"--format", "movielens"}},
	{"any order of columns", []string{"ts,rating,item,user\n7,4,a,ann\n8,5,b,bob\n"}, nil},
	{"names that need quotes", []string{"Rating (1-5);Movie Title;User's ID\n4;Heat;1\n5;Jaws;2\n"}, nil},
	{"a comment with names", []string{"# item user rating\n10 1 3\n11 2 4\n"}, nil},
	{"blanks", []string{"  1 10\t 3\n2  10 4 \n"}, nil},
	{"bars", []string{"1|10|3|\n2|11|4|\n"}, nil},
	{"a log", []string{"session;page;when\na;x;1\na;x;2\nb;y;3\n"}, []string{"--value", "count"}},
	{"duplicates", []string{"user,item,r\na,x,1\na,x,2\nb,y,3\n"}, []string{"--duplicates", "max", "--orient", "cols"}},
	{"bad lines", []string{"user,item,r\na,x,1\na,y,oops\nb,y,3\n"}, []string{"--max-bad-lines", "1"}},
	{"numbers chosen as names", []string{"0,1,2\n1,10,3.5\n"}, []string{"--header", "yes"}},
	{"columns chosen", []string{"foo,bar,baz\n1,10,3.5\n"}, []string{"--columns", "bar,foo,baz"}},
	{"parts that differ", []string{"user,item,rating\n1,10,3\n", "item;rating;user\n11;4;2\n"}, nil},
	{"a part without header", []string{"item,user,rating\n10,1,3\n", "11,2,4\n"}, nil},
	{"Matrix Market", []string{"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n"}, nil},
	{"IDX", []string{"\x00\x00\x08\x02\x00\x00\x00\x02\x00\x00\x00\x03\x00\x01\x02\x03\x00\x00"}, nil},
	{"svmlight", []string{"1 3:0.5 7:1\n-1 2:1 9:0.25\n"}, nil},
	{"times that count", []string{"1::10::3::100000000\n2::10::4::200000000\n2::11::4::300000000\n"}, []string{"--since", "150000000"}},
	{"times without values", []string{"who,sku,when,user\na,x,100000000,1\nb,y,200000000,2\n"}, []string{"--until", "150000000"}},
	{"filters", []string{"user,item,r\na,x,1\na,y,2\nb,y,3\n"}, []string{"--min-per-row", "2", "--min-value", "0.5"}},
	{"JSON lines", []string{`{"stars": 3, "user": "ann", "item": 7, "ts": 5}` + "\n" + `{"item": 8, "user": "bob", "stars": 4, "ts": 6}` + "\n"}, nil},
	{"several formats", []string{"user,item,stars\nann,9,1\n", `{"stars": 3, "user": "ann", "item": 7}` + "\n"}, nil},
	{"joined headers", []string{"user,item\n1,2\nuser,item\n3,4\n"}, nil},
}

// TestSniffedCommand: the command that sniff prints makes the store that ingest makes without flags.
func TestSniffedCommand(t *testing.T) {
	for _, c := range sniffed {
		dir := t.TempDir()
		var inputs []string
		for i, text := range c.files {
			path := filepath.Join(dir, string(rune('a'+i))+".txt")
			if i == 0 {
				var b bytes.Buffer
				z := gzip.NewWriter(&b)
				z.Write([]byte(text))
				z.Close()
				text = b.String()
			}
			must.Do(t, os.WriteFile(path, []byte(text), 0o666))
			inputs = append(inputs, path)
		}
		plain, explicit := filepath.Join(dir, "plain"), filepath.Join(dir, "explicit")
		var want, got ingestResult
		said := succeeds(t, append(append([]string{"ingest", "-o", plain, "--json"}, inputs...), c.args...)...)
		must.Do(t, json.Unmarshal([]byte(said), &want))
		var r sniffResult
		args := append(append([]string{"-o", explicit, "--json"}, inputs...), c.args...)
		said = succeeds(t, append([]string{"sniff"}, args...)...)
		must.Do(t, json.Unmarshal([]byte(said), &r))
		if dry := succeeds(t, append([]string{"ingest", "--dry-run"}, args...)...); stable(t, dry) != stable(t, said) {
			t.Errorf("%s: a dry run says\n%s\nnot\n%s", c.name, dry, said)
		}
		if _, err := os.Stat(explicit); err == nil {
			t.Fatalf("%s: sniff has written %s", c.name, explicit)
		}
		if !slices.Contains(r.Command, "--format") && len(c.files) == 1 {
			t.Errorf("%s: %q", c.name, r.Command)
		}
		said = succeeds(t, append(r.Command[1:], "--json")...)
		must.Do(t, json.Unmarshal([]byte(said), &got))
		if got.Fingerprint != want.Fingerprint || got.NNZ != want.NNZ || got.BadLines != want.BadLines {
			t.Errorf("%s: %q gives %+v, want %+v", c.name, r.Command, got, want)
		}
	}
}

// TestSniffedCommandOfStandardInput: the command keeps "-" for standard input and as a separator.
func TestSniffedCommandOfStandardInput(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	const text = "7-8-4\n9-8-5\n"
	said := gdsvdIn(t, t.Context(), text, "sniff", "-", "-o", store, "--sep", "-", "--columns", "1,2,3", "--json")
	var r sniffResult
	if err := json.Unmarshal([]byte(said.stdout), &r); err != nil {
		t.Fatalf("%v: %+v", err, said)
	}
	if made := gdsvdIn(t, t.Context(), text, r.Command[1:]...); made.code != 0 {
		t.Errorf("%q: %s", r.Command, made.stderr)
	}
	said = gdsvdIn(t, t.Context(), "1,2\n1,3\n", "sniff", "-")
	if !strings.Contains(said.stdout, "gdsvd ingest - -o ratings.csr") {
		t.Error(said.stdout, said.stderr)
	}
}

// stable returns a description without its measured time.
func stable(t *testing.T, s string) string {
	t.Helper()
	var d map[string]any
	must.Do(t, json.Unmarshal([]byte(s), &d))
	delete(d, "seconds")
	b := must.Get(json.Marshal(d))(t)
	return string(b)
}

func TestSniffPrints(t *testing.T) {
	path := write(t, t.TempDir(), "my ratings.csv", "time,stars,Movie ID,member\n7,4,10,ann\n8,3.5,11,bob\n")
	said := succeeds(t, "sniff", path)
	for _, want := range []string{
		"input    " + path + ", 51 B\n", "format   delimited, fields separated by commas, with a header\n",
		"columns  time      time    named \"time\": a time is no value\n", "         member    row     named \"member\"\n",
		"entries  ann  10  4\n", "shape    2 × 2\n", "number   2 entries", "disk     about ", "time     less than a second\n",
		"\ngdsvd ingest '" + path + "' -o 'my ratings.csr' --format delimited --sep , --header yes --columns 4,3,2\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%s\ndoes not say %q", said, want)
		}
	}
}

// TestSniffAmbiguous: an ambiguous input is exit 2; sniff prints for each reading the command with its flag.
func TestSniffAmbiguous(t *testing.T) {
	path := write(t, t.TempDir(), "in", "ann,x\nbob,y\n")
	want := map[string]int{"no": 2, "yes": 1} // number of entries
	for _, command := range [][]string{{"sniff", path}, {"ingest", "--dry-run", path}, {"ingest", path, "-o", path + ".csr"}} {
		o := fails(t, ui.ExitUsage, `--header yes.*--header no`, command...)
		lines := strings.Split(o.stdout, "\n")
		if command[len(command)-1] != path {
			lines = nil
			if o.stdout != "" {
				t.Errorf("%q prints %q", command, o.stdout)
			}
		}
		found := 0
		for header, n := range want {
			store := filepath.Join(t.TempDir(), "m.csr")
			chosen := []string{"ingest", path, "-o", "in.csr", "--header", header}
			if !slices.ContainsFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "gdsvd "+strings.Join(chosen, " ") }) {
				continue
			}
			found++
			chosen[3] = store
			if said := succeeds(t, chosen...); !strings.Contains(said, fmt.Sprint(n, " entries")) {
				t.Errorf("--header %s: %s", header, said)
			}
		}
		if lines != nil && found != 2 {
			t.Errorf("%q prints\n%s", command, o.stdout)
		}
	}
	o := gdsvd(t, "sniff", path, "--json")
	var told struct {
		Error    string
		Exit     int
		Readings []struct{ Reading, Flag string }
	}
	decode(t, o.stdout, &told)
	if o.code != ui.ExitUsage || told.Exit != ui.ExitUsage || !strings.Contains(told.Error, "ambiguous") || len(told.Readings) != 2 || !strings.HasPrefix(told.Readings[0].Flag, "--header ") || told.Readings[0].Reading == "" {
		t.Errorf("%d: %s", o.code, o.stdout)
	}
}

// fullDisk is a file system that reports free bytes of free space.
type fullDisk struct {
	vfs.FS
	free int64
}

func (f fullDisk) FreeSpace(string) (int64, error) { return f.free, nil }

// TestSniffWarnsOfFullDisk: sniff warns if the store will not fit on its disk.
func TestSniffWarnsOfFullDisk(t *testing.T) {
	path := write(t, t.TempDir(), "in", strings.Repeat("1,1,1\n2,3,4\n", 100))
	for free, warns := range map[int64]bool{10: true, 1 << 40: false} {
		o := gdsvdAs(t, t.Context(), func(a *app) { a.fsys = fullDisk{vfs.OS(), free} }, "sniff", path, "--header", "no", "-o", filepath.Join(t.TempDir(), "m.csr"))
		if o.code != ui.ExitOK || o.stderr != "" {
			t.Fatalf("exit %d: %s", o.code, o.stderr)
		}
		if strings.Contains(o.stdout, "warning  the disk of ") != warns {
			t.Errorf("%d bytes free:\n%s", free, o.stdout)
		}
	}
}
