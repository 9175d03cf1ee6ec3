package remote_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/internal/remotetest"
)

const (
	keyID  = "AKIDEXAMPLE"
	secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	token  = "session/token=="
)

// bucket returns an S3 server; the environment names its endpoint and has no credentials.
func bucket(t *testing.T) *remotetest.Server {
	t.Helper()
	s := remotetest.New(t)
	s.Secrets = map[string]string{keyID: secret}
	for _, name := range os.Environ() {
		if name, _, _ = strings.Cut(name, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ENDPOINT_URL", s.URL)
	return s
}

// signIn sets credentials in the environment.
func signIn(t *testing.T) {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", keyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
}

// TestS3Signature checks that the signatures of keys with any characters are valid.
func TestS3Signature(t *testing.T) {
	s := bucket(t)
	signIn(t)
	s.Region, s.Token = "eu-central-1", token
	t.Setenv("AWS_REGION", "eu-central-1")
	t.Setenv("AWS_SESSION_TOKEN", token)
	for _, key := range []string{"x", "a folder/1+1=2 ~ü€&%41#x.csv", "a//b", "./x", "a:b@c$d,e;f'(g)"} {
		data := noise(300_000)
		s.Put("/some-bucket/"+key, data, 1)
		if got, err := readAll(t, client(t, s, nil), "s3://some-bucket/"+key); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", key, len(got), err)
		}
	}
}

// TestS3Credentials checks that credentials come from the environment, the shared files or the
// container, and that missing or refused ones give an error of one line without secrets.
func TestS3Credentials(t *testing.T) {
	file := func(name, text string) func(*testing.T) {
		return func(t *testing.T) {
			path := filepath.Join(os.Getenv("HOME"), ".aws", name)
			must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o600)))
		}
	}
	keys := "aws_access_key_id = " + keyID + "\naws_secret_access_key = " + secret + "\n"
	for name, c := range map[string]struct {
		given func(*testing.T)
		want  string // "": the object is read
	}{
		"environment": {signIn, ""},
		"file":        {file("credentials", "[default]\n"+keys), ""},
		"profile": {func(t *testing.T) {
			file("credentials", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n[other]\n"+keys)(t)
			t.Setenv("AWS_PROFILE", "other")
		}, ""},
		"container": {func(t *testing.T) {
			role := remotetest.NewPlain(t)
			role.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				fmt.Fprintf(w, `{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":"","Expiration":"2099-01-01T00:00:00Z"}`, keyID, secret)
				return true
			}
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", role.URL+"/role")
		}, ""},
		"none": {func(*testing.T) {}, "403 Forbidden (AccessDenied): no credentials were found in the environment"},
		"wrong": {func(t *testing.T) {
			signIn(t)
			t.Setenv("AWS_SECRET_ACCESS_KEY", secret+"x")
		}, "403 Forbidden (SignatureDoesNotMatch): the credentials that were found do not permit it"},
	} {
		t.Run(name, func(t *testing.T) {
			s := bucket(t)
			s.Put("/some-bucket/x", noise(1000), 1)
			c.given(t)
			_, err := readAll(t, client(t, s, nil), "s3://some-bucket/x")
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), "read s3://some-bucket/x: "+c.want) || !errors.Is(err, fs.ErrPermission) ||
				strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), keyID)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestS3Region checks that the region of a bucket is taken once from the answer that refuses another region.
func TestS3Region(t *testing.T) {
	s := bucket(t)
	signIn(t)
	s.Region = "ap-southeast-2"
	s.Put("/some-bucket/x", noise(1000), 1)
	told := s.Region
	s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("X-Amz-Bucket-Region", told)
		return false
	}
	if _, err := readAll(t, client(t, s, nil), "s3://some-bucket/x"); err != nil {
		t.Error(err)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	for _, told = range []string{"eu-west-1", "evil.example.org/"} {
		if _, err := readAll(t, client(t, s, nil), "s3://some-bucket/x"); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("region %s: %v", told, err)
		}
	}
}

// TestS3Expand checks that Expand returns the matching objects, in order, over several pages, without a request per object.
func TestS3Expand(t *testing.T) {
	s := bucket(t)
	signIn(t)
	s.Page = 2
	var want []string
	for i := range 9 {
		key := fmt.Sprintf("day %d/part+%d.csv", i%2, 9-i)
		s.Put("/some-bucket/a/"+key, noise(100+i), i)
		want = append(want, "s3://some-bucket/a/"+key)
	}
	slices.Sort(want)
	for _, key := range []string{"a/day 1/", "a/day 1/x/part+1.csv", "a/day 1/part+1.csv.old", "a/part+0.csv", "b/day 1/part+1.csv", "[odd]?.csv"} {
		s.Put("/some-bucket/"+key, noise(1), 1)
	}
	c := client(t, s, nil)
	for pattern, want := range map[string][]string{
		"a/*/part*.csv":          want,
		"a/day 1/part+*.csv":     want[5:],
		"a/day [1-9]/part+?.csv": want[5:],
		"[odd]?.csv":             {"s3://some-bucket/[odd]?.csv"},
		"plain":                  {"s3://some-bucket/plain"},
	} {
		got, err := c.Expand(t.Context(), "s3://some-bucket/"+pattern)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", pattern, got, err)
		}
	}
	for _, r := range s.Requests() {
		if !strings.Contains(r.Query, "list-type=2") {
			t.Errorf("asks for %s", r.Path)
		}
		if one := strings.Contains(r.Query, "prefix=a%2Fday%201%2Fpart%2B"); one && !strings.Contains(r.Query, "delimiter=%2F&") || strings.Contains(r.Query, "prefix=a%2F&") && strings.Contains(r.Query, "delimiter") {
			t.Errorf("asks with %s", r.Query)
		}
	}
	before := len(s.Requests())
	info, err := c.Stat(t.Context(), want[0])
	if err != nil || info.ETag == "" || info.Size < 100 || !info.Ranges || len(s.Requests()) != before {
		t.Errorf("%+v, %v, %d requests", info, err, len(s.Requests())-before)
	}
	if got, err := readAll(t, c, want[0]); err != nil || int64(len(got)) != info.Size {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for pattern, want := range map[string]string{
		"s3://some-bucket/none*":       "no object matches",
		"s3://some-bucket/[":           "syntax error in pattern",
		"s3://some-bucket/":            "no key",
		"s3://some-bucket/folder/":     "no key",
		"s3:///x":                      "no bucket",
		"s3://a:hunter2@b/x":           "read s3://b/x: credentials in a name are not taken",
		"s3://../x":                    "no bucket",
		"s3://some-bucket/x?a=hunter2": "read s3://some-bucket/x?…: no object matches",
	} {
		if _, err := c.Expand(t.Context(), pattern); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

// TestS3Lists checks that endless and malformed lists are refused.
func TestS3Lists(t *testing.T) {
	for name, c := range map[string]struct{ list, want string }{
		"the same again": {"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken></ListBucketResult>", "again and again"},
		"no token":       {"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", "again and again"},
		"ever new":       {"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>PAGE</NextContinuationToken></ListBucketResult>", "name fewer"},
		"no list":        {"<html>welcome</html", "is not a list of objects"},
		"negative":       {"<ListBucketResult><Contents><Key>x1</Key><Size>-1</Size></Contents></ListBucketResult>", "is not an object"},
		"escape":         {"<ListBucketResult><Contents><Key>x%zz</Key><Size>1</Size></Contents></ListBucketResult>", "is not an object"},
		"another folder": {"<ListBucketResult><Contents><Key>y1</Key><Size>1</Size></Contents></ListBucketResult>", "no object matches"},
	} {
		t.Run(name, func(t *testing.T) {
			s, pages := bucket(t), 0
			s.Before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
				pages++
				_, _ = w.Write([]byte(strings.ReplaceAll(c.list, "PAGE", strconv.Itoa(pages))))
				return pages < 10_000
			}
			if _, err := client(t, s, nil).Expand(t.Context(), "s3://some-bucket/x*"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestDisplay checks that secrets in a name are not shown.
func TestDisplay(t *testing.T) {
	for name, want := range map[string][2]string{
		"https://h/a/b.csv":                             {"https://h/a/b.csv", "b.csv"},
		"https://u:p@h:1/a/b%20c.csv?X-Amz-Signature=1": {"https://h:1/a/b%20c.csv?…", "b c.csv"},
		"https://u:p@q@h/a@b?x#y":                       {"https://h/a@b?…", "a@b"},
		"https://h#u:p@x/":                              {"https://h", "h"},
		"https://h/a#token":                             {"https://h/a", "a"},
		"https://h?a=b":                                 {"https://h?…", "h"},
		"HTTPS://u:p@h/a":                               {"HTTPS://h/a", "a"},
		"https://u:%zz@h/a?b":                           {"https://h/a?…", "a?…"},
		"s3://b/a/?-*.csv":                              {"s3://b/a/?-*.csv", "?-*.csv"},
		"s3://k:s@b/a":                                  {"s3://b/a", "a"},
		"ftp://u:p@h/a":                                 {"ftp://h/a", "a"},
		"a/b.csv":                                       {"a/b.csv", "b.csv"},
		"a b://c@d":                                     {"a b://c@d", "c@d"},
	} {
		if got := [2]string{remote.Display(name), remote.Base(name)}; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// FuzzName checks that Display and Base show no password, query or fragment of any name.
func FuzzName(f *testing.F) {
	for _, s := range []string{"https://u:p@h/a?b#c", "http://[::1]:80/x?y", "s3://b/k", "s3://b/k?x=y", "https://h?#", "HTTPS://%41@h/?a?b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		shown := remote.Display(name)
		if again := remote.Display(shown); again != shown {
			t.Fatalf("%q is shown as %q, that as %q", name, shown, again)
		}
		if !remote.Is(name) {
			return
		}
		if rest := strings.TrimSuffix(shown, "?…"); !strings.HasPrefix(strings.ToLower(name), "s3") && strings.ContainsAny(rest, "?#") {
			t.Fatalf("%q is shown as %q", name, shown)
		}
		host, _, _ := strings.Cut(strings.SplitN(shown, "://", 2)[1], "/")
		if strings.Contains(host, "@") || strings.ContainsAny(remote.Base(name), "/") && remote.Base(name) != "/" {
			t.Fatalf("%q is shown as %q, %q", name, shown, remote.Base(name))
		}
	})
}

// slowly is a body of zeros whose parts take long.
type slowly struct{ reads atomic.Int32 }

func (s *slowly) ReadAt(p []byte, _ int64) (int, error) {
	s.reads.Add(1)
	time.Sleep(50 * time.Millisecond)
	clear(p)
	return len(p), nil
}

// TestS3SlowPut: an object that takes longer to send than the patience is sent all the same, in one try, while its bytes move.
func TestS3SlowPut(t *testing.T) {
	s := bucket(t)
	signIn(t)
	c := remote.New(remote.Options{Transport: s.Transport(t), Pause: time.Millisecond, Patience: time.Second})
	data := make([]byte, 1<<20)
	sum := sha256.Sum256(data)
	body := new(slowly)
	must.Do(t, c.Put(t.Context(), "s3://some-bucket/x", body, int64(len(data)), sum[:]))
	if n := len(s.Requests()); n != 1 || body.reads.Load() < 25 {
		t.Errorf("%d requests, %d parts", n, body.reads.Load())
	}
}

// TestS3DeleteMissing: an object that is not there counts as removed, whether the server says 204 or, as Google's, 404; a
// refusal stays an error.
func TestS3DeleteMissing(t *testing.T) {
	for status, want := range map[int]error{http.StatusNoContent: nil, http.StatusNotFound: nil, http.StatusForbidden: fs.ErrPermission} {
		s := bucket(t)
		signIn(t)
		s.Before = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			return true
		}
		if err := client(t, s, nil).Delete(t.Context(), "s3://some-bucket/x"); !errors.Is(err, want) {
			t.Errorf("%d: %v, want %v", status, err, want)
		}
	}
}
