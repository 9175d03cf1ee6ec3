package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remotetest"
)

// TestURLInput: sniff, ingest and append accept URLs, and no output shows the secrets in them.
func TestURLInput(t *testing.T) {
	s := remotetest.New(t)
	s.Put("/a/ratings.csv", []byte("user,movie,rating\n1,10,3\n2,11,4\n"), 1)
	s.Put("/a/more.csv", []byte("user,movie,rating\n3,10,3\n"), 1)
	s.Put("/a/bad.csv", []byte("user,movie,rating\n1,10,good\n"), 1)
	url := func(name string) string {
		return strings.Replace(s.URL, "https://", "https://me:hunter2@", 1) + "/a/" + name + "?X-Amz-Signature=hunter2"
	}
	dir := t.TempDir()
	store := filepath.Join(dir, "m.csr")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"sniff", url("ratings.csv")}, ui.ExitOK, "gdsvd ingest '" + s.URL + "/a/ratings.csv?…' -o ratings.csr"},
		{[]string{"sniff", url("ratings.csv"), "--json"}, ui.ExitOK, s.URL + "/a/ratings.csv?…"},
		{[]string{"ingest", url("ratings.csv"), "-o", store, "--log-level", "debug"}, ui.ExitOK, "2 × 2, 2 entries"},
		{[]string{"ingest", url("ratings.csv"), "-o", store, "--resume"}, ui.ExitOK, "the store is finished"},
		{[]string{"append", store, url("more.csv"), "--log-level", "debug"}, ui.ExitOK, "3 × 2, 3 entries"},
		{[]string{"info", store, "--json"}, ui.ExitOK, "more.csv"},
		{[]string{"ingest", url("bad.csv"), "-o", store + "2"}, ui.ExitError, s.URL + "/a/bad.csv?…:2"},
		{[]string{"ingest", url("none.csv"), "-o", store + "2", "--json"}, ui.ExitError, "/a/none.csv?…: 404 Not Found (NoSuchKey)"},
		{[]string{"ingest", url("ratings.csv"), "-o", store + "2", "--rows-ids", url("more.csv")}, ui.ExitError, "/a/more.csv?…: ids of rows beside an input that has ids of its own"},
	} {
		o := gdsvdFrom(t, t.Context(), s.Transport(t), c.args...)
		all := o.stdout + o.stderr
		if o.code != c.code || !strings.Contains(all, c.want) || strings.Contains(all, "hunter2") {
			t.Errorf("%s: exit %d, want %s in\n%s", c.args[0], o.code, c.want, all)
		}
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("hunter2")) {
			err = errors.New(path + " has the secret")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestURLInterrupted: reading from a server that does not answer ends when the program is interrupted.
func TestURLInterrupted(t *testing.T) {
	s := remotetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		time.AfterFunc(10*time.Millisecond, cancel)
		<-r.Context().Done()
		return true
	}
	out := filepath.Join(t.TempDir(), "m.csr")
	o := gdsvdFrom(t, ctx, s.Transport(t), "ingest", s.URL+"/x", "-o", out)
	if o.code != ui.ExitInterrupted || o.stderr != "gdsvd: interrupted; nothing is written\n" {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}

// gdsvdFrom runs a command line with the given transport for URLs.
func gdsvdFrom(t *testing.T, ctx context.Context, net http.RoundTripper, args ...string) ran {
	t.Helper()
	return gdsvdAs(t, ctx, func(a *app) { a.net = net }, args...)
}

// TestURLOfProcess: the program reads from a server that the system trusts, and refuses another one in one line.
func TestURLOfProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there the environment tells whom to trust")
	}
	s := remotetest.New(t)
	s.Put("/ratings.csv", []byte("user,movie,rating\n1,10,3\n2,11,4\n"), 1)
	trusted := filepath.Join(t.TempDir(), "cert.pem")
	must.Do(t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o666))
	for trust, want := range map[string]string{trusted: "2 × 2, 2 entries", os.DevNull: "gdsvd: read " + s.URL + "/ratings.csv: tls: failed to verify certificate"} {
		cmd := process(t, "ingest", s.URL+"/ratings.csv", "-o", filepath.Join(t.TempDir(), "m.csr"))
		cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+trust, "SSL_CERT_DIR="+t.TempDir())
		said, err := cmd.CombinedOutput()
		if (err == nil) != (trust == trusted) || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v\n%s", trust, err, said)
		}
	}
}
