package remote

import (
	"net/http"
	"testing"
)

// FuzzAnswer checks that an answer with any headers is refused or is a part of the requested range within the size of the object.
func FuzzAnswer(f *testing.F) {
	f.Add(206, "bytes 5-9/100", `"a"`, "Mon, 02 Jan 2006 15:04:05 GMT", int64(5), uint16(5), uint16(5))
	f.Add(206, "bytes 5-9/*", `W/"a"`, "", int64(-1), uint16(5), uint16(5))
	f.Add(206, "bytes */100", "a", "", int64(0), uint16(0), uint16(1))
	f.Add(206, "bytes 0-0/0", `""`, "", int64(1), uint16(0), uint16(1))
	f.Add(206, "bytes 0-99999999999999999999/5", "", "", int64(1), uint16(0), uint16(1))
	f.Add(200, "", "\"a\n\"", "x", int64(100), uint16(0), uint16(1))
	f.Add(416, "bytes */0", "", "", int64(0), uint16(0), uint16(1))
	f.Fuzz(func(t *testing.T, status int, span, tag, modified string, length int64, start, count uint16) {
		from := int64(start)
		to := from + 1 + int64(count)
		resp := &http.Response{StatusCode: status, ContentLength: max(length, -1), Body: http.NoBody, Header: http.Header{
			"Content-Range": {span}, "Etag": {tag}, "Last-Modified": {modified},
		}}
		a, err := read(resp, from, to)
		if err != nil {
			return
		}
		if status == http.StatusOK {
			if a.at != 0 || a.info.Ranges || a.info.Size != resp.ContentLength || a.end != resp.ContentLength {
				t.Fatalf("%+v", a)
			}
			return
		}
		if a.at != from || a.end <= from || a.end > to || length >= 0 && a.end-a.at != length || a.info.Ranges != (a.info.Size >= 0) || a.info.Ranges && a.end > a.info.Size {
			t.Fatalf("[%d, %d): %+v", from, to, a)
		}
		if tag := a.info.ETag; tag != "" && (len(tag) < 3 || len(tag) > 202) {
			t.Fatalf("ETag %q", tag)
		}
		if !a.info.same(a.info) {
			t.Fatalf("%+v is not the same as itself", a.info)
		}
	})
}
