package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Is reports whether name is a URL that this package reads: https, http or s3.
func Is(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && slices.Contains([]string{"https", "http", "s3"}, strings.ToLower(scheme))
}

// IsFolder reports whether name stands for all keys of a bucket with a common prefix: s3://BUCKET/PREFIX/.
func IsFolder(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), "s3://") && strings.HasSuffix(name, "/") && !strings.ContainsAny(name, wildcards)
}

const hidden = "?…"

// Display returns name without its secret parts: the user and password before the host, and the query, which may hold a
// signature. A name that is not a URL stays unchanged.
func Display(name string) string {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok || strings.ContainsAny(scheme, "/ ") {
		return name
	}
	query := ""
	// In the keys of a bucket ? is a wildcard, unless = follows: then it begins a query.
	if i := strings.IndexByte(rest, '?'); i >= 0 && (!strings.EqualFold(scheme, "s3") || strings.Contains(rest[i:], "=")) {
		rest, query = rest[:i], hidden
	}
	if !strings.EqualFold(scheme, "s3") {
		rest, _, _ = strings.Cut(rest, "#")
	}
	host, tail, slash := strings.Cut(rest, "/")
	host = host[strings.LastIndexByte(host, '@')+1:]
	if slash {
		host += "/"
	}
	return scheme + "://" + host + tail + query
}

// Base returns the last element of the path of a URL.
func Base(name string) string {
	t, err := parse(name)
	if err != nil {
		return path.Base(Display(name))
	}
	if t.bucket != "" {
		return path.Base(t.key)
	}
	if base := path.Base(t.url.Path); base != "." && base != "/" {
		return base
	}
	return t.url.Host
}

// scrub removes secrets from the text of an error: the error of a transport may contain a URL.
func scrub(err error) error {
	text := err.Error()
	if !strings.Contains(text, "://") {
		return err
	}
	words := strings.Split(text, " ")
	for i, w := range words {
		words[i] = Display(w)
	}
	return &told{strings.Join(words, " "), err}
}

// A target is the parsed form of a name, an object of a bucket or else a URL, with the request to be made.
type target struct {
	url         *url.URL
	bucket, key string

	// HTTP method for an object of a bucket; "": GET.
	method string
	body   io.ReaderAt // its first size bytes are sent
	size   int64
	sum    string // hexadecimal SHA-256 of the bytes sent
}

// parse parses a name; its errors do not contain the name.
func parse(name string) (t target, err error) {
	scheme, rest, _ := strings.Cut(name, "://")
	if strings.EqualFold(scheme, "s3") {
		t.bucket, t.key, _ = strings.Cut(rest, "/")
		switch {
		case strings.Contains(t.bucket, "@"):
			return t, errors.New("credentials in a name are not taken: they come from the environment, ~/.aws/credentials or the role of the machine")
		case !isBucket(t.bucket):
			return t, errors.New("no bucket: want s3://BUCKET/KEY")
		case t.key == "" || strings.HasSuffix(t.key, "/"):
			return t, errors.New("no key: want s3://BUCKET/KEY, or a pattern as s3://BUCKET/FOLDER/*.csv")
		}
		return t, nil
	}
	if t.url, err = url.Parse(name); err != nil || t.url.Host == "" {
		return t, errors.New("this is no URL: want https://HOST/PATH")
	}
	t.url.Fragment, t.url.RawFragment = "", ""
	return t, permitted(t.url)
}

// isBucket reports whether s can be the name of a bucket, and so a part of a host or a path.
func isBucket(s string) bool {
	return len(s) > 2 && len(s) < 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == "" && !strings.Contains(s, "..")
}

// permitted returns an error for a connection that is not encrypted, unless it is to this machine: a host on the way could
// read and change the matrix unnoticed.
func permitted(u *url.URL) error {
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	if u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || err == nil && ip.IsLoopback()) {
		return nil
	}
	if u.Scheme == "http" {
		return errors.New("http is not encrypted: the matrix can be changed on its way; want https, or curl URL | gdsvd ingest -")
	}
	return fmt.Errorf("%s is no scheme that is read: want https or s3", u.Scheme)
}

func failed(name string, err error) error {
	return &fs.PathError{Op: "read", Path: Display(name), Err: err}
}
