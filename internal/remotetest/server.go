// Package remotetest provides a server of objects on the loopback interface for tests: https with ranges, and the part of S3
// for reading, writing, listing and removing whole objects, with signatures that it computes itself.
package remotetest

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// An Object is the content that is served under a path.
type Object struct {
	Data     []byte
	ETag     string // with quotes; "": none
	Modified time.Time
}

type Request struct {
	Path, Query string
	Method      string
	Header      http.Header
	User        string // user and password, as sent
}

// A Server serves objects. Its exported fields are set before the first request.
type Server struct {
	*httptest.Server
	// Secrets maps the keys that may sign to their secrets; nil: requests need not be signed.
	Secrets map[string]string
	// Token is the session token that a signed request must carry; "": any.
	Token string
	// Region is the region of a valid signature; "": any.
	Region string
	// Page is the number of keys on a page of a list.
	Page int
	// Before is called with the number of each request, counted from 0. If it returns true it has answered the request.
	Before func(n int, w http.ResponseWriter, r *http.Request) bool

	mu       sync.Mutex
	objects  map[string]Object
	requests []Request
	sent     int64
}

// New starts a server with TLS that is closed when the test ends.
func New(t testing.TB) *Server { return start(t, (*httptest.Server).StartTLS) }

// NewPlain starts a server without TLS.
func NewPlain(t testing.TB) *Server { return start(t, (*httptest.Server).Start) }

func start(t testing.TB, begin func(*httptest.Server)) *Server {
	s := &Server{Page: 1000, objects: map[string]Object{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // tests break connections on purpose
	begin(s.Server)
	t.Cleanup(s.Close)
	return s
}

// Transport returns a transport that trusts the certificate of the server. Its connections are closed when the test ends.
func (s *Server) Transport(t testing.TB) *http.Transport {
	tr := s.Client().Transport.(*http.Transport).Clone()
	tr.DisableCompression = true
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// Put serves data under a path, with an ETag and a time that depend on tag.
func (s *Server) Put(path string, data []byte, tag int) {
	s.PutObject(path, Object{data, fmt.Sprintf(`"tag-%d"`, tag), time.Date(2024, 1, 2, 3, 4, tag, 0, time.UTC)})
}

func (s *Server) PutObject(path string, o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path] = o
}

func (s *Server) Object(path string) (o Object, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok = s.objects[path]
	return o, ok
}

func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) Sent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, Request{r.URL.Path, r.URL.RawQuery, r.Method, r.Header.Clone(), strings.Trim(user+":"+password, ":")})
	o, ok := s.objects[r.URL.Path]
	s.mu.Unlock()
	if s.Before != nil && s.Before(n, w, r) {
		return
	}
	if code := s.forbids(r); code != "" {
		refuse(w, http.StatusForbidden, code)
		return
	}
	switch {
	case r.URL.Query().Get("list-type") == "2":
		s.list(w, r)
	case r.Method == http.MethodPut:
		data, err := io.ReadAll(r.Body)
		if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != r.Header.Get("X-Amz-Content-Sha256") {
			refuse(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
			return
		}
		s.Put(r.URL.Path, data, n)
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		delete(s.objects, r.URL.Path)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case !ok:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		s.Give(w, r, o)
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>AKIDEXAMPLE may not</Message></Error>", code)
}

// Give serves an object, or the range that the request asks for.
func (s *Server) Give(w http.ResponseWriter, r *http.Request, o Object) {
	if o.ETag != "" {
		w.Header().Set("ETag", o.ETag)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(&counter{w, s}, r, "", o.Modified, bytes.NewReader(o.Data))
}

// GiveWhole serves an object without regard to ranges, with a Content-Length if length is true.
func (s *Server) GiveWhole(w http.ResponseWriter, o Object, length bool) {
	if o.ETag != "" {
		w.Header().Set("ETag", o.ETag)
	}
	if length {
		w.Header().Set("Content-Length", strconv.Itoa(len(o.Data)))
	} else {
		w.(http.Flusher).Flush()
	}
	_, _ = (&counter{w, s}).Write(o.Data) // the other side may have gone
}

// A counter counts the bytes sent.
type counter struct {
	http.ResponseWriter
	s *Server
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.sent += int64(n)
	return n, err
}

// A Cut is a ResponseWriter whose connection breaks after Left bytes.
type Cut struct {
	http.ResponseWriter
	Left int
}

func (c *Cut) Write(p []byte) (int, error) {
	if len(p) <= c.Left {
		c.Left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.Left])
	c.Flush()
	panic(http.ErrAbortHandler)
}

func (c *Cut) Flush() { c.ResponseWriter.(http.Flusher).Flush() }

// list answers a ListObjectsV2 (https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html).
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	type entry struct {
		Key, ETag    string
		Size         int
		LastModified string
	}
	var result struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		IsTruncated           bool
		NextContinuationToken string
		Contents              []entry
	}
	q := r.URL.Query()
	from, _ := strconv.Atoi(cmp.Or(strings.TrimPrefix(q.Get("continuation-token"), "next/+"), "0"))
	s.mu.Lock()
	var keys []string
	for path := range s.objects {
		key, ok := strings.CutPrefix(path, r.URL.Path)
		if ok && strings.HasPrefix(key, q.Get("prefix")) && (q.Get("delimiter") == "" || !strings.Contains(key[len(q.Get("prefix")):], q.Get("delimiter"))) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	to := min(from+s.Page, len(keys))
	for _, key := range keys[min(from, to):to] {
		o := s.objects[r.URL.Path+key]
		result.Contents = append(result.Contents, entry{url.QueryEscape(key), o.ETag, len(o.Data), o.Modified.Format("2006-01-02T15:04:05.000Z")})
	}
	s.mu.Unlock()
	if to < len(keys) {
		result.IsTruncated, result.NextContinuationToken = true, fmt.Sprintf("next/+%d", to)
	}
	_ = xml.NewEncoder(w).Encode(result) // the other side may have gone
}

// forbids returns the S3 error code that refuses a request, or "". The signature is specified in
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html.
func (s *Server) forbids(r *http.Request) string {
	if s.Secrets == nil || r.URL.Query().Has("X-Amz-Signature") { // a signed URL needs no header
		return ""
	}
	fields := map[string]string{}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ")
	for _, part := range strings.Split(rest, ", ") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/") // key, day, region, service, aws4_request
	if !ok || len(scope) != 5 {
		return "AccessDenied"
	}
	secret, known := s.Secrets[scope[0]]
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	signed := strings.Split(fields["SignedHeaders"], ";")
	switch {
	case !known:
		return "InvalidAccessKeyId"
	case err != nil || time.Since(at).Abs() > 15*time.Minute || at.Format("20060102") != scope[1]:
		return "RequestTimeTooSkewed"
	case s.Token != "" && (r.Header.Get("X-Amz-Security-Token") != s.Token || !slices.Contains(signed, "x-amz-security-token")):
		return "InvalidToken"
	case s.Region != "" && scope[2] != s.Region:
		return "AuthorizationHeaderMalformed"
	case !slices.Contains(signed, "host") || !slices.IsSorted(signed) || scope[3] != "s3":
		return "SignatureDoesNotMatch"
	}
	var canonical strings.Builder
	query := strings.Split(r.URL.RawQuery, "&")
	slices.Sort(query)
	canonical.WriteString(r.Method + "\n" + strictly(r.URL.Path) + "\n" + strings.Join(query, "&") + "\n")
	for _, name := range signed {
		value := strings.Join(r.Header.Values(name), ",")
		if name == "host" {
			value = r.Host
		}
		canonical.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	canonical.WriteString("\n" + fields["SignedHeaders"] + "\n" + r.Header.Get("X-Amz-Content-Sha256"))
	sum := sha256.Sum256([]byte(canonical.String()))
	text := strings.Join([]string{"AWS4-HMAC-SHA256", r.Header.Get("X-Amz-Date"), strings.Join(scope[1:], "/"), hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range append(scope[1:], text) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	if hex.EncodeToString(key) != fields["Signature"] {
		return "SignatureDoesNotMatch"
	}
	return ""
}

// strictly returns path with all characters but slashes and the unreserved characters of RFC 3986 as %XX.
func strictly(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(p), "+", "%20"), "%7E", "~")
	}
	return strings.Join(parts, "/")
}
