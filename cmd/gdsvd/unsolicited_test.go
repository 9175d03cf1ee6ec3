package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnsolicitedResponse: a response that was not requested, which net/http reports to the standard logger, is not shown.
func TestUnsolicitedResponse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			for {
				if _, err := http.ReadRequest(in); err != nil {
					break
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n1,1,3\n1,2,4\n2,1,5\n2,2,3\nHTTP/1.1 503 Unasked\r\n\r\n")
			}
			c.Close()
		}
	}()
	cmd := process(t, "ingest", "-q", "http://"+l.Addr().String()+"/r.csv", "-o", filepath.Join(t.TempDir(), "r.csr"))
	var said bytes.Buffer
	cmd.Stderr = &said
	err = cmd.Run()
	if strings.Contains(said.String(), "Unsolicited") || err != nil {
		t.Errorf("%v: %s", err, &said)
	}
}
