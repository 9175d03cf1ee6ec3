package remote

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
)

// Put makes an object of a bucket of size bytes, in one step: a reader finds all of it, or what was there before. sum is their
// SHA-256, which the server compares.
func (c *Client) Put(ctx context.Context, name string, body io.ReaderAt, size int64, sum []byte) error {
	return c.do(ctx, name, target{method: http.MethodPut, body: body, size: size, sum: hex.EncodeToString(sum)})
}

// Delete removes an object of a bucket, if it is there.
func (c *Client) Delete(ctx context.Context, name string) error {
	return c.do(ctx, name, target{method: http.MethodDelete})
}

// do has a server do something with an object of a bucket, and forgets what is known of the object.
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
		resp, err := c.send(l.ctx, what, http.Header{})
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

// Forget has an object looked at anew.
func (c *Client) Forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, name)
}
