package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/internal/remotetest"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestURLIsFile: an input of each format gives the same store from a server as from a file, and Progress knows its size.
func TestURLIsFile(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	text := strings.Join(ratings(r, 3000, true), "\n") + "\n"
	table := must.Get(os.ReadFile(filepath.Join("testdata", "parquet", "dictionary.parquet")))(t)
	npz, _ := randomNPZ(3000, 40)
	s := remotetest.New(t)
	for name, data := range map[string][]byte{
		"text": []byte(text), "gzip": gzipped(t, []byte(text[:5000]), []byte(text[5000:])), "parquet": table,
		"npz": npz.bytes(t, 8), "npy": npyOf(50, 30), "mtx": []byte("%%MatrixMarket matrix coordinate real general\n3 4 2\n1 2 5\n3 4 1\n"),
	} {
		local, out := target(t), target(t)
		o := Options{Duplicates: Sum}
		mustIngest(t, []string{write(t, "in", string(data))}, local, o)
		s.Put("/"+name, data, 1)
		var read Progress
		o.Transport, o.Observer = s.Transport(t), func(p Progress) {
			if p.Stage == StageRead {
				read = p
			}
		}
		mustIngest(t, []string{s.URL + "/" + name}, out, o)
		if fingerprint(t, out) != fingerprint(t, local) {
			t.Errorf("%s: another matrix", name)
		}
		if n := int64(len(data)); read.Total != n || read.Done > n {
			t.Errorf("%s: %d of %d bytes, there are %d", name, read.Done, read.Total, n)
		}
	}
	for _, q := range s.Requests() {
		if q.Header.Get("Range") == "" {
			t.Errorf("%s is asked for without a range", q.Path)
		}
	}
}

// npyOf returns a dense array in which every fifth element is 0.
func npyOf(rows, cols int) []byte {
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d), }", rows, cols)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	b = append(b, head...)
	for i := range rows * cols {
		b = append(b, byte(i%5))
	}
	return b
}

// TestURLOfRealData: MovieLens 1M gives the same store from a server that drops a connection as from the file.
func TestURLOfRealData(t *testing.T) {
	path := filepath.Join(dataDir(t), "movielens", "ml-1m", "ratings-notimestamp.dat.gz")
	data := must.Get(os.ReadFile(path))(t)
	s := remotetest.New(t)
	s.Put("/ratings", data, 1)
	s.Before = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n != 4 {
			return false
		}
		s.Give(&remotetest.Cut{ResponseWriter: w, Left: 100_000}, r, remotetest.Object{Data: data, ETag: `"tag-1"`})
		return true
	}
	local, out := target(t), target(t)
	mustIngest(t, []string{path}, local, Options{})
	mustIngest(t, []string{s.URL + "/ratings"}, out, Options{Transport: s.Transport(t)})
	if fingerprint(t, out) != fingerprint(t, local) {
		t.Error("another matrix")
	}
}

// TestURLWithoutSize: a response without ranges and size is read if the format reads streams; Sniff estimates nothing.
func TestURLWithoutSize(t *testing.T) {
	s := remotetest.New(t)
	table := must.Get(os.ReadFile(filepath.Join("testdata", "parquet", "dictionary.parquet")))(t)
	objects := map[string][]byte{"/text": []byte("1,2,3\n4,5,6\n"), "/short": []byte("1,2,3\n"), "/ids": []byte("bbbbbbb\naaaaaaa\n"), "/parquet": table}
	s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		s.GiveWhole(w, remotetest.Object{Data: objects[r.URL.Path]}, false)
		return true
	}
	o := Options{Transport: s.Transport(t)}
	if rep := mustIngest(t, []string{s.URL + "/text"}, target(t), o); rep.NNZ != 2 {
		t.Errorf("%+v", rep)
	}
	if rep := mustIngest(t, []string{s.URL + "/short"}, target(t), o); rep.NNZ != 1 { // shorter than what tells the compression
		t.Errorf("%+v", rep)
	}
	d, err := Sniff(t.Context(), []string{s.URL + "/text"}, o)
	if err != nil || d.Inputs[0].Bytes != -1 || d.Sampled != 2 {
		t.Errorf("%+v, %v", d, err)
	}
	o.RowIDs = s.URL + "/ids"
	if rep := mustIngest(t, []string{write(t, "in", mmReal+"2 1 1\n1 1 1\n")}, target(t), o); rep.Rows != 2 {
		t.Errorf("%+v", rep)
	}
	o.RowIDs = ""
	_, err = Ingest(t.Context(), []string{s.URL + "/parquet"}, target(t), o)
	if pe := parseError(t, err, format.ErrUnsupported, 0, 0); !strings.Contains(pe.Error(), "a server that gives no ranges") {
		t.Error(pe)
	}
}

// inBucket starts a server with a bucket that requires signed requests, and sets the credentials in the environment.
func inBucket(t *testing.T) *remotetest.Server {
	t.Helper()
	s := remotetest.New(t)
	s.Secrets = map[string]string{"AKIDEXAMPLE": "hunter2/secret+key"}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "hunter2/secret+key", "AWS_SESSION_TOKEN": "", "AWS_ENDPOINT_URL_S3": "", "AWS_ENDPOINT_URL": s.URL,
	} {
		t.Setenv(name, value)
	}
	return s
}

// TestURLResumes: an interrupted ingest of objects resumes with other signatures in the URLs and makes the bytes of an
// uninterrupted one; no file and no message holds a secret. A changed object is refused.
func TestURLResumes(t *testing.T) {
	lines := ratings(rand.New(rand.NewPCG(3, 3)), 400, true)
	s := inBucket(t)
	const parts = 4
	var first []byte
	for i := range parts {
		text := []byte(strings.Join(lines[i*len(lines)/parts:(i+1)*len(lines)/parts], "\n") + "\n")
		if i == 0 {
			text = gzipped(t, text)
			first = text
		}
		for _, folder := range []string{"/some-bucket/", "/signed/"} {
			s.Put(fmt.Sprintf("%spart %d", folder, i), text, i)
		}
	}
	for name, inputs := range map[string]func(n int) []string{
		"bucket": func(int) []string { return []string{"s3://some-bucket/part*"} },
		"https": func(n int) (urls []string) {
			for i := range parts {
				urls = append(urls, fmt.Sprintf("%s/signed/part%%20%d?X-Amz-Signature=hunter2%d", strings.Replace(s.URL, "https://", "https://me:hunter2@", 1), i, n))
			}
			return urls
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			o := Options{
				Duplicates: Sum, Transport: s.Transport(t), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				CheckpointEvery: time.Nanosecond, Resume: true, Workers: 1, FS: lazyFS{vfs.OS()},
			}
			run := func(ctx context.Context, n int, out string) (*Report, error) {
				rep, err := ingest(ctx, inputs(n), out, o.withDefaults(), tiny())
				silent(t, filepath.Dir(out), fmt.Sprint(log.String(), rep, err))
				return rep, err
			}
			whole, out := target(t), target(t)
			must.Get(run(t.Context(), 0, whole))(t)
			for stop := 2; stop <= parts; stop++ { // interrupts while the object stop-1 is read, after its sampling
				ctx, cancel := context.WithCancel(t.Context())
				asked := 0
				s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
					if strings.HasSuffix(r.URL.Path, fmt.Sprint("part ", stop-1)) && r.Header.Get("Range") != "bytes=0-0" {
						asked++
					}
					if asked == 2 {
						cancel()
						<-r.Context().Done()
						return true
					}
					return false
				}
				_, err := run(ctx, stop, out)
				if u := (*csr.UnfinishedError)(nil); !errors.As(err, &u) || !errors.Is(err, context.Canceled) {
					t.Fatalf("interrupted at part %d: %v", stop-1, err)
				}
				s.Before = nil
			}
			for _, folder := range []string{"/some-bucket/", "/signed/"} {
				s.Put(folder+"part 0", first, 9)
			}
			var refused *csr.ResumeError
			if _, err := run(t.Context(), 1, out); !errors.As(err, &refused) || !strings.Contains(err.Error(), "has changed since") {
				t.Errorf("another object: %v", err)
			}
			for _, folder := range []string{"/some-bucket/", "/signed/"} {
				s.Put(folder+"part 0", first, 0)
			}
			if rep, err := run(t.Context(), 5, out); err != nil || rep.Resumes != parts-1 {
				t.Fatalf("%+v, %v", rep, err)
			}
			if diff := cmp.Diff(vfstest.Contents(t, whole), vfstest.Contents(t, out)); diff != "" {
				t.Errorf("another store: %s", diff)
			}
			store := must.Get(csr.Open(out, csr.OpenOptions{}))(t)
			source := fmt.Sprint(store.Manifest().Source)
			if !strings.Contains(source, "[part 0 part 1 part 2 part 3]") || !strings.Contains(source, `ETag "tag-3"`) {
				t.Error(source)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			if rep, err := run(t.Context(), 7, out); err != nil || !rep.Finished {
				t.Errorf("finished: %+v, %v", rep, err)
			}
		})
	}
}

// silent fails if what was said, or a file below dir, contains a secret.
func silent(t *testing.T, dir, said string) {
	t.Helper()
	if strings.Contains(said, "hunter2") {
		t.Errorf("says %s", said)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("hunter2")) || bytes.Contains(b, []byte("AKIDEXAMPLE")) {
			t.Errorf("%s has a secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestURLChanges: an object that changes while it is read is an error, and no journal is left.
func TestURLChanges(t *testing.T) {
	text := []byte(strings.Join(ratings(rand.New(rand.NewPCG(3, 3)), 60000, true), "\n") + "\n")
	s := remotetest.New(t)
	s.Put("/x", text, 1)
	s.Before = func(n int, _ http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
			s.Put("/x", text, 2)
		}
		return false
	}
	out := target(t)
	_, err := ingest(t.Context(), []string{s.URL + "/x"}, out, Options{Duplicates: Sum, Transport: s.Transport(t), CheckpointEvery: time.Nanosecond}.withDefaults(), tiny())
	if !errors.Is(err, remote.ErrChanged) {
		t.Errorf("got %v", err)
	}
	leftovers(t, out, false)
}

// TestURLEverywhere: Sniff, Append, and the options for ids and titles accept URLs.
func TestURLEverywhere(t *testing.T) {
	s := inBucket(t)
	for path, text := range map[string]string{
		"a.csv": "user,movie,rating\n1,10,3\n2,11,4\n", "b.csv": "user,movie,rating\n3,12,5\n", "titles.csv": "movie,title\n10,Ten\n12,Twelve\n",
		"m.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 5\n2 1 1\n", "rows.txt": "x\ny\n",
	} {
		s.Put("/some-bucket/"+path, []byte(text), 1)
	}
	at := func(name string) string { return "s3://some-bucket/" + name }
	o := Options{Transport: s.Transport(t)}
	d, err := Sniff(t.Context(), []string{at("*.csv")}, o)
	if err == nil || !strings.Contains(err.Error(), "s3://some-bucket/titles.csv") {
		t.Errorf("titles are no ratings: %+v, %v", d, err)
	}
	if d, err = Sniff(t.Context(), []string{at("?.csv")}, o); err != nil || d.Of != 2 || d.Inputs[1].Name != at("b.csv") || d.Inputs[1].Bytes != 25 || d.Entries != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	store, all := target(t), target(t)
	o.Titles = at("titles.csv")
	if rep := mustIngest(t, []string{at("a.csv")}, store, o); rep.RowTitles+rep.ColTitles != 1 {
		t.Errorf("%+v", rep)
	}
	o.Titles = ""
	must.Get(Append(t.Context(), store, []string{at("b.csv")}, "", o))(t)
	mustIngest(t, []string{at("?.csv")}, all, o)
	if fingerprint(t, store) != fingerprint(t, all) {
		t.Error("appended: another matrix")
	}
	o.RowIDs = at("rows.txt")
	named, _ := ingested(t, []string{at("m.mtx")}, o)
	if got := fmt.Sprint(contents(t, named)); got != "[{x 1 5} {y 0 1}]" {
		t.Error(got)
	}
	o.RowIDs = strings.Replace(s.URL, "https://", "https://me:hunter2@", 1) + "/some-bucket/none?hunter2"
	for _, input := range []string{at("m.mtx"), at("a.csv")} {
		if _, err := Ingest(t.Context(), []string{input}, target(t), o); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v", err)
		}
	}
}

// TestURLAfterDeath kills an ingest of objects at many operations and resumes it.
func TestURLAfterDeath(t *testing.T) {
	s := inBucket(t)
	lines := strings.Join(ratings(rand.New(rand.NewPCG(5, 5)), 200, true), "\n") + "\n"
	half := strings.LastIndex(lines[:len(lines)/2], "\n") + 1
	s.Put("/some-bucket/a.gz", gzipped(t, []byte(lines[:half])), 1)
	s.Put("/some-bucket/b", []byte(lines[half:]), 2)
	u := unlucky{inputs: []string{"s3://some-bucket/[ab]*"}, o: Options{Duplicates: Sum, Transport: s.Transport(t)}, plan: tiny()}
	u.resumes(t, nil)
}

// TestURLTenX: the objects of a bucket with a common prefix are read as a 10x folder.
func TestURLTenX(t *testing.T) {
	s := inBucket(t)
	for name, text := range map[string]string{"matrix.mtx.gz": tenXMatrix, "features.tsv.gz": tenXFeatures, "barcodes.tsv.gz": tenXBarcodes} {
		s.Put("/some-bucket/run 1/"+name, gzipped(t, []byte(text)), 1)
	}
	s.Put("/some-bucket/other/x", nil, 1)
	out, o := target(t), Options{Transport: s.Transport(t)}
	mustIngest(t, []string{"s3://some-bucket/run 1/"}, out, o)
	if got := contents(t, out); !slices.Equal(got, []triple{{"ENSG1", "AAA-1", 7}, {"ENSG2", "TTT-1", 4}, {"ENSG3", "TTT-1", 1}}) {
		t.Error(got)
	}
	for name, want := range map[string]string{"other/": "no key: want", "none/": "no object matches", "run 1/*/": "no key"} {
		if _, err := Ingest(t.Context(), []string{"s3://some-bucket/" + name}, target(t), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
