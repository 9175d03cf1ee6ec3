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

// Is tells whether an input is named by a URL that is read here: https, http or s3.
func Is(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && slices.Contains([]string{"https", "http", "s3"}, strings.ToLower(scheme))
}

// IsFolder tells whether a name is that of all keys of a bucket that begin so.
func IsFolder(name string) bool {
	return strings.HasPrefix(strings.ToLower(name), "s3://") && strings.HasSuffix(name, "/") && !strings.ContainsAny(name, wildcards)
}

const hidden = "?…"

// Display is the name without what may be secret: the user and password before the host, and the
// query, which may hold a signature. A name that is no URL is as it was.
func Display(name string) string {
	scheme, rest, ok := strings.Cut(name, "://")
	if !ok || strings.ContainsAny(scheme, "/ ") {
		return name
	}
	query := ""
	// In the keys of a bucket ? is a wildcard; one with = behind it begins a query.
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

// Base is the last element of the path of a URL.
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

// scrub takes what may be secret out of the text of an error: that of a transport may have a URL in it.
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

// A target is what a name stands for: an object of a bucket, or else a URL.
type target struct {
	url         *url.URL
	bucket, key string

	// What is to be done with an object of a bucket; "" is GET.
	method string
	body   io.ReaderAt // size bytes of it are sent
	size   int64
	sum    string // SHA-256 of them
}

// parse reads a name; its errors do not show it.
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

// isBucket tells whether a name can be that of a bucket, and so a part of a host or a path.
func isBucket(s string) bool {
	return len(s) > 2 && len(s) < 64 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == "" && !strings.Contains(s, "..")
}

// permitted refuses what is not encrypted, but for this machine itself: a host on the way could read and
// change the matrix unnoticed.
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
