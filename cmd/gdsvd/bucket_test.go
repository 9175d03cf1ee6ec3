package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remotetest"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

const storeInBucket = "s3://bucket/some/m.csr"

// buckets starts an S3 server without objects and sets its address and credentials in the environment.
func buckets(t *testing.T) *remotetest.Server {
	t.Helper()
	server := remotetest.NewPlain(t)
	server.Secrets = map[string]string{"AKID": "secret"}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": server.URL, "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "", "TMPDIR": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	return server
}

// inBucket copies a store into a bucket of a new server.
func inBucket(t *testing.T, store string) *remotetest.Server {
	t.Helper()
	server := buckets(t)
	all, err := os.ReadDir(store)
	for _, e := range all {
		var b []byte
		if b, err = os.ReadFile(filepath.Join(store, e.Name())); err != nil {
			break
		}
		server.Put("/bucket/some/m.csr/"+e.Name(), b, 1)
	}
	must.Do(t, err)
	return server
}

// TestStoreInBucket: commands read a store in a bucket as one in a folder, also with workers that share only buckets.
func TestStoreInBucket(t *testing.T) {
	store := ingested(t, blocky)
	here, _ := factorised(t, store, "-k", "3")
	tasks, _ := factorised(t, store, "-k", "3", "--groups", "3", "--engine", "local", "--shared", t.TempDir(), "--view", "log1p | center=columns")
	server := inBucket(t, store)

	far, r := factorised(t, storeInBucket, "-k", "3")
	sameVectors(t, here, far)
	if r.Store.Path != storeInBucket {
		t.Errorf("the result is of %s", r.Store.Path)
	}
	on := append(workerEngine(t), "--groups", "3", "--shared", "s3://bucket/run")
	command, _ := factorised(t, storeInBucket, append([]string{"-k", "3", "--view", "log1p | center=columns"}, on...)...)
	sameVectors(t, tasks, command)

	for _, path := range []string{store, storeInBucket} { // the outputs for both paths must be equal
		for _, args := range [][]string{
			{"info", path}, {"info", path, "--ids", "cols"}, {"stats", path}, {"view", path, "--rows", "1,2"},
			{"check", path}, append([]string{"check", path}, on...), {"check", far, "--store", path}, {"plan", path, "-k", "3", "--json"},
			{"recommend", far, "--rows", "1,2", "--store", path}, append([]string{"recommend", far, "--rows", "all", "--store", path, "-o", filepath.Join(t.TempDir(), "x.csv")}, on...),
			{"export", path, "-o", filepath.Join(t.TempDir(), "x.mtx")}, {"report", path, "-o", filepath.Join(t.TempDir(), "x.html")},
			{"project", far, path, "-o", filepath.Join(t.TempDir(), "x.proj")},
		} {
			o := gdsvd(t, args...)
			if o.code != ui.ExitOK {
				t.Errorf("%v: exit %d\n%s%s", args, o.code, o.stdout, o.stderr)
			}
		}
	}
	succeeds(t, "recommend", "-q", far, "--rows", "1") // without --store: the result names the store

	before := len(server.Paths())
	for _, args := range [][]string{
		{"append", storeInBucket, ratings(t, tall)}, {"append", store, ratings(t, tall), "-o", storeInBucket}, {"ingest", ratings(t, tall), "-o", storeInBucket, "--force"}, {"ingest", ratings(t, tall), "-o", "s3://bucket/new.csr"},
		{"svd", store, "-k", "2", "-o", "s3://bucket/m.svd"}, {"generate", "kron", "-o", "s3://bucket/new.csr"}, {"export", store, "-o", "s3://bucket/m.mtx"},
	} {
		fails(t, ui.ExitUsage, `^gdsvd: buckets are read-only`, append(args, "-q")...)
	}
	fails(t, ui.ExitError, `s3://bucket/none: 404 Not Found`, "svd", "s3://bucket/none", "-k", "2", "-o", filepath.Join(t.TempDir(), "x"), "-q")
	if n := len(server.Paths()); n != before {
		t.Errorf("a bucket of %d objects has %d", before, n)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if _, err := os.Stat("s3:"); err == nil {
		t.Error("a folder is made that is called s3:")
	}

	shard := ""
	for _, path := range server.Paths() {
		if strings.Contains(path, "/shard-") {
			shard = path
		}
	}
	o, _ := server.Object(shard)
	data := bytes.Clone(o.Data)
	data[len(data)/2] ^= 1
	server.Put(shard, data, 2)
	for _, args := range [][]string{nil, on} {
		out := filepath.Join(t.TempDir(), "x")
		fails(t, ui.ExitCorrupt, storeInBucket+": "+filepath.Base(shard)+`: block \d+: .* the store is damaged`, append([]string{"svd", storeInBucket, "-k", "3", "-o", out, "-q"}, args...)...)
	}
}

// TestPlanOfBucket: the planned svd of a store in a bucket writes its result to this machine.
func TestPlanOfBucket(t *testing.T) {
	inBucket(t, ingested(t, tall))
	var p planned
	decode(t, succeeds(t, "plan", storeInBucket, "-k", "2", "--json"), &p)
	if command := p.Steps[0].Commands[0]; !slices.Contains(command, storeInBucket) || !slices.Contains(command, "m.svd") {
		t.Errorf("%q", command)
	}
}

// TestIngestOfBucketByTasks: an ingest of objects by tasks makes the bytes of an ingest without tasks, although the server
// is busy once; its shards are those of files. An object that changes while a task reads it is an error.
func TestIngestOfBucketByTasks(t *testing.T) {
	server, dir := buckets(t), t.TempDir()
	text := must.Get(os.ReadFile(ratings(t, blocky)))(t)
	files, lines := []string{"ingest", "-q", "--duplicates", "last", "-o", "files"}, slices.Collect(strings.Lines(string(text)))
	const part = "/bucket/in/part%d"
	for lines := range slices.Chunk(lines, (len(lines)+3)/4) {
		name, data := fmt.Sprintf(part, len(files)), []byte(strings.Join(lines, ""))
		files = append(files, write(t, dir, filepath.Base(name), string(data)))
		server.Put(name, data, 1)
	}
	last := fmt.Sprintf(part, len(files)-1) // the driver reads only the beginning of the first object
	var disturb atomic.Pointer[func(w http.ResponseWriter)]
	server.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != last || strings.HasPrefix(cmp.Or(r.Header.Get("Range"), "bytes=0-"), "bytes=0-") {
			return false
		}
		once := disturb.Swap(nil)
		if once != nil {
			(*once)(w)
		}
		return once != nil
	}
	busy := func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	changed := func(w http.ResponseWriter) {
		o, _ := server.Object(last)
		server.Put(last, o.Data, 2)
		busy(w)
	}
	t.Chdir(dir)
	succeeds(t, files...)
	from := func(out string, more ...string) []string {
		return append([]string{"ingest", "-q", "--duplicates", "last", "s3://bucket/in/part*", "-o", out}, more...)
	}
	succeeds(t, from("one")...)
	want, shards := vfstest.Contents(t, "one"), vfstest.Contents(t, "files")
	for name, b := range shards {
		if want[name] != b && name != csr.ManifestName { // the manifest names the inputs
			t.Errorf("%s of a bucket is not that of files", name)
		}
	}
	by := [][]string{{"--engine", "local"}, workerEngine(t)}
	for i, by := range by {
		disturb.Store(&busy)
		name := fmt.Sprint("tasks", i)
		succeeds(t, from(name, append(by, "--groups", "3", "--shared", "shared")...)...)
		if !maps.Equal(vfstest.Contents(t, name), want) {
			t.Errorf("%v: another store", by)
		}
		if disturb.Load() != nil {
			t.Errorf("%v: no task has met a busy server: the test misses what it is for", by)
		}
	}
	disturb.Store(&changed)
	fails(t, ui.ExitError, `^gdsvd: read s3://bucket/in/part\d: it has changed since it was first looked at`, from("changed", append(by[1], "--groups", "3", "--shared", "shared")...)...)
	for _, name := range names(t, dir) {
		if strings.HasPrefix(name, "changed") || strings.Contains(name, "spool") {
			t.Errorf("%s is left", name)
		}
	}
}
