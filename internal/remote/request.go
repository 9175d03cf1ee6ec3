package remote

import (
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

type answer struct {
	info Info
	body io.ReadCloser
	at   int64 // offset of the first byte
	end  int64 // offset after the last byte; −1: unknown
}

var errNoSuchRange = fmt.Errorf("%w: it is shorter", ErrChanged)

// get requests bytes [from, to) of an object, or the whole object if known says that the server gives no ranges. If known is
// nil get requests the range.
func (c *Client) get(ctx context.Context, t target, from, to int64, known *Info) (*answer, error) {
	header := http.Header{}
	parts := known == nil || known.Ranges
	if parts {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, to-1))
	}
	if parts && known != nil {
		if known.ETag != "" && weak(known.ETag) == known.ETag {
			header.Set("If-Range", known.ETag)
		} else if !known.Modified.IsZero() {
			header.Set("If-Range", known.Modified.Format(http.TimeFormat))
		}
	}
	resp, err := c.send(ctx, t, header)
	if err != nil {
		return nil, err
	}
	a, err := read(resp, from, to)
	switch {
	case err != nil || known == nil:
	case !known.same(a.info):
		err = ErrChanged
	case known.Ranges && !a.info.Ranges && (from > 0 || a.end != known.Size): // some servers give a range of all bytes as the object
		err = &passing{err: errors.New("the server gives the whole object instead of a part")}
	case !known.Ranges && a.info.Ranges:
		err = errors.New("the server gives a part instead of the whole object")
	}
	if err != nil {
		resp.Body.Close() // the body is not needed
		return nil, err
	}
	return a, nil
}

// read checks a response to the request of bytes [from, to), or of the whole object, and returns it as an answer.
func read(resp *http.Response, from, to int64) (*answer, error) {
	a := &answer{body: resp.Body, end: -1}
	a.info.Size = -1
	if tag := resp.Header.Get("ETag"); isTag(tag) {
		a.info.ETag = tag
	}
	if at, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		a.info.Modified = at.UTC()
	}
	switch resp.StatusCode {
	case http.StatusOK:
		a.info.Size, a.end = resp.ContentLength, resp.ContentLength
		return a, nil
	case http.StatusRequestedRangeNotSatisfiable:
		return nil, errNoSuchRange
	}
	first, last, size, ok := contentRange(resp.Header)
	switch {
	case !ok || first != from || last < first || last >= to || size >= 0 && last >= size:
		return nil, fmt.Errorf("the server answers bytes %d to %d with Content-Range %.80q", from, to-1, resp.Header.Get("Content-Range"))
	case resp.ContentLength >= 0 && resp.ContentLength != last+1-first:
		return nil, fmt.Errorf("the server announces %d bytes for Content-Range %.80q", resp.ContentLength, resp.Header.Get("Content-Range"))
	}
	a.at, a.end, a.info.Size, a.info.Ranges = first, last+1, size, size >= 0
	return a, nil
}

// contentRange reads "bytes 5-9/100"; size is −1 for "bytes 5-9/*".
func contentRange(h http.Header) (first, last, size int64, ok bool) {
	text, ok := strings.CutPrefix(h.Get("Content-Range"), "bytes ")
	span, total, _ := strings.Cut(text, "/")
	from, to, _ := strings.Cut(span, "-")
	number := func(s string) int64 {
		n, err := strconv.ParseUint(s, 10, 62)
		ok = ok && err == nil
		return int64(n)
	}
	size = -1
	if total != "*" {
		size = number(total)
	}
	return number(from), number(to), size, ok
}

// isTag reports whether an ETag is well formed and not too long: it is stored with the results of the input.
func isTag(s string) bool {
	w := weak(s)
	return len(w) > 2 && len(w) <= 200 && w[0] == '"' && w[len(w)-1] == '"' && !strings.ContainsFunc(w[1:len(w)-1], func(r rune) bool { return r <= ' ' || r == '"' || r > '~' })
}

// weak returns an ETag without its mark of a weak tag.
func weak(tag string) string { return strings.TrimPrefix(tag, "W/") }

const mostRedirects = 5

// send makes a request, and follows permitted redirects. A password is not sent to another host.
func (c *Client) send(ctx context.Context, t target, header http.Header) (*http.Response, error) {
	for n := 0; ; n++ {
		req, err := c.request(ctx, t, header)
		if err != nil {
			return nil, err
		}
		resp, err := c.o.Transport.RoundTrip(req)
		if err != nil {
			return nil, untransported(err)
		}
		switch resp.StatusCode {
		case http.StatusNoContent:
			if t.method != "" {
				return resp, nil
			}
		case http.StatusNotFound: // Google's server says so if what is to be removed is not there
			if t.method == http.MethodDelete {
				return resp, nil
			}
		case http.StatusOK, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable:
			return resp, nil
		}
		next, err := c.follow(t, resp)
		resp.Body.Close() // follow has read what it needs
		if err != nil {
			return nil, err
		}
		if n == mostRedirects {
			return nil, fmt.Errorf("the server redirects more than %d times", mostRedirects)
		}
		t = next
	}
}

func (c *Client) request(ctx context.Context, t target, header http.Header) (*http.Request, error) {
	h := header.Clone()
	h.Set("User-Agent", "gdsvd")
	h.Set("Accept-Encoding", "identity")
	if t.bucket != "" {
		return c.signed(ctx, t, h)
	}
	req := (&http.Request{Method: http.MethodGet, URL: t.url, Host: t.url.Host, Header: h}).WithContext(ctx)
	if u := t.url.User; u != nil {
		password, _ := u.Password()
		req.SetBasicAuth(u.Username(), password)
	}
	return req, nil
}

// follow returns the target that a response without an object redirects to, or the error that the response stands for.
func (c *Client) follow(t target, resp *http.Response) (target, error) {
	if t.bucket != "" {
		if c.s3.moved(t.bucket, resp) {
			return t, nil
		}
		return t, refused(resp, c.s3.remedy(resp.StatusCode))
	}
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	case http.StatusForbidden, http.StatusUnauthorized:
		if t.url.RawQuery != "" {
			return t, refused(resp, "the signature in the URL may be wrong or have expired")
		}
		return t, refused(resp, "the server asks for credentials that may read it")
	default:
		return t, refused(resp, "")
	}
	to, err := t.url.Parse(resp.Header.Get("Location"))
	if err != nil || to.Host == "" {
		return t, fmt.Errorf("%s to nowhere", resp.Status)
	}
	to.Fragment, to.RawFragment = "", ""
	if t.url.Scheme == "https" && to.Scheme != "https" {
		return t, fmt.Errorf("the server redirects to %s, which is not encrypted", Display(to.String()))
	}
	if err := permitted(to); err != nil {
		return t, fmt.Errorf("redirected: %w", err)
	}
	to.User = nil
	if to.Host == t.url.Host && to.Scheme == t.url.Scheme {
		to.User = t.url.User
	}
	return target{url: to}, nil
}

const mostError = 1 << 14

func refused(resp *http.Response, remedy string) error {
	text := strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	var said struct{ Code string }
	if xml.NewDecoder(io.LimitReader(resp.Body, mostError)).Decode(&said) == nil && said.Code != "" && len(said.Code) < 60 &&
		strings.Trim(said.Code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
		text += " (" + said.Code + ")"
	}
	if remedy != "" {
		text += ": " + remedy
	}
	err := &told{strings.TrimSpace(text), kinds[resp.StatusCode]}
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16) // a date counts as 0
		return &passing{err, time.Duration(seconds) * time.Second}
	}
	return err
}

// untransported returns the error of a transport, as a passing error in most cases.
func untransported(err error) error {
	var (
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		name        *net.DNSError
	)
	err = scrub(err)
	if errors.As(err, &certificate) || errors.As(err, &record) || errors.As(err, &name) && name.IsNotFound {
		return err
	}
	return &passing{err: err}
}
