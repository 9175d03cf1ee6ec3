package remote

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// mostKeys is the largest number of objects of one bucket that may be inputs.
	mostKeys = 1 << 16
	// mostListed is the largest number of keys that are listed to find these objects.
	mostListed = 1 << 22
	// fullPage is the number of objects on a full page of a list; a page without objects counts as full.
	fullPage = 1000
	// mostPage limits the bytes of a page of a list: a key has up to a kilobyte, three in the encoding of the page.
	mostPage = 4 << 20
)

// wildcards are the characters that make a key a pattern of path.Match.
const wildcards = "*?["

// Expand returns the names of the objects that name stands for, in ascending order: the objects of a bucket that match a
// pattern, or name itself.
func (c *Client) Expand(ctx context.Context, name string) ([]string, error) {
	t, err := parse(name)
	if err != nil {
		return nil, failed(name, err)
	}
	if t.bucket == "" || !strings.ContainsAny(t.key, wildcards) {
		return []string{name}, nil
	}
	if _, err := path.Match(t.key, ""); err != nil {
		return nil, failed(name, err)
	}
	prefix := t.key[:strings.IndexAny(t.key, wildcards)]
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "prefix": {prefix}}
	if !strings.Contains(t.key[len(prefix):], "/") {
		query.Set("delimiter", "/") // a key with further slashes does not match
	}
	var found []string
	listed := 0
	for token := ""; ; {
		if token != "" {
			query.Set("continuation-token", token)
		}
		page, err := c.page(ctx, name, target{bucket: t.bucket, url: &url.URL{RawQuery: query.Encode()}})
		if err != nil {
			return nil, err
		}
		for _, o := range page.Contents {
			key, err := url.QueryUnescape(o.Key)
			if err != nil || o.Size < 0 {
				return nil, failed(name, errors.New("the list of the server has an entry that is not an object"))
			}
			if ok, _ := path.Match(t.key, key); !ok && key != t.key || strings.HasSuffix(key, "/") {
				continue
			}
			one := "s3://" + t.bucket + "/" + key
			info := Info{Size: o.Size, Modified: o.LastModified.UTC().Truncate(time.Second), Ranges: true}
			if isTag(o.ETag) {
				info.ETag = o.ETag
			}
			c.know(one, info)
			found = append(found, one)
		}
		listed += cmp.Or(len(page.Contents), fullPage)
		switch {
		case len(found) > mostKeys || listed > mostListed:
			return nil, failed(name, fmt.Errorf("more than %d objects match, or more than %d begin so: name fewer", mostKeys, mostListed))
		case !page.IsTruncated && len(found) == 0:
			return nil, failed(name, fmt.Errorf("no object matches: %w", fs.ErrNotExist))
		case !page.IsTruncated:
			slices.Sort(found)
			return slices.Compact(found), nil
		case page.NextContinuationToken == "" || page.NextContinuationToken == token:
			return nil, failed(name, errors.New("the server lists the same objects again and again"))
		}
		token = page.NextContinuationToken
	}
}

// A page is one page of a ListObjectsV2 response.
type page struct {
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct {
		Key, ETag    string
		Size         int64
		LastModified time.Time
	}
}

func (c *Client) page(ctx context.Context, name string, t target) (p page, err error) {
	err = c.try(ctx, name, mostTries, func(l *limit) error {
		resp, err := c.send(l.ctx, t, http.Header{})
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(io.LimitReader(resp.Body, mostPage))
		if err != nil {
			return &passing{err: scrub(err)}
		}
		p = page{}
		if err := xml.Unmarshal(text, &p); err != nil || resp.StatusCode != http.StatusOK {
			return errors.New("the answer of the server is not a list of objects")
		}
		return nil
	})
	return p, err
}

// Put writes an object of size bytes to a bucket in one step: a reader sees the complete new object, or what was there
// before. sum is the SHA-256 of the bytes, which the server compares.
func (c *Client) Put(ctx context.Context, name string, body io.ReaderAt, size int64, sum []byte) error {
	return c.do(ctx, name, target{method: http.MethodPut, body: body, size: size, sum: hex.EncodeToString(sum)})
}

// Delete removes an object of a bucket, if it exists.
func (c *Client) Delete(ctx context.Context, name string) error {
	return c.do(ctx, name, target{method: http.MethodDelete})
}

// do sends the request what for an object of a bucket, and forgets the Info of the object.
func (c *Client) do(ctx context.Context, name string, what target) error {
	t, err := parse(name)
	if err == nil && (t.bucket == "" || strings.ContainsAny(t.key, wildcards)) {
		err = errors.New("this is no object of a bucket: want s3://BUCKET/KEY")
	}
	if err != nil {
		return failed(name, err)
	}
	what.bucket, what.key = t.bucket, t.key
	c.Forget(name)
	return c.try(ctx, name, mostTries, func(l *limit) error {
		t := what
		t.body = moving{what.body, l}
		resp, err := c.send(l.ctx, t, http.Header{})
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// moving is a body whose reads start the patience of a limit anew.
type moving struct {
	io.ReaderAt
	l *limit
}

func (m moving) ReadAt(p []byte, off int64) (int, error) {
	m.l.timer.Reset(m.l.patience)
	return m.ReaderAt.ReadAt(p, off)
}

// Forget drops the stored Info of an object, so that the next Stat asks the server.
func (c *Client) Forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, name)
}
