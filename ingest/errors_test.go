package ingest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestErrorsAreOneLine: errors about inputs with control characters are one line without control characters.
func TestErrorsAreOneLine(t *testing.T) {
	const nasty = "a\r\nb\x1b[31m\x00\u202e\xff"
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	must.Get(z.Create(nasty + ".npy"))(t)
	must.Do(t, z.Close())
	quoted := `"a\r\n\u001b[31m\u0000\u202e"`
	for name, in := range map[string]string{
		"npz":             archive.String(),
		"npy":             string(npyFile(nasty, false, "(1, 1)")),
		"npy records":     string(npyFile("', 'descr': ["+nasty+"], 'x': '", false, "(1, 1)")),
		"text":            "1," + nasty + ",3,4,5\n",
		"names":           "\x1b[31muser,\x1b[31mitem,\u202erating\n1,2,x\n",
		"Matrix Market":   "%%MatrixMarket matrix\v \x1bx real general\n1 1 1\n",
		"SVMlight":        "1 1:\x1b\r2\n",
		"JSON keys":       fmt.Sprintf("{%s: 1, %[1]s2: 2}\n", quoted),
		"JSON value":      `{"user": 1, "item": 2, "rating": ` + quoted + "}\n",
		"JSON duplicates": strings.Repeat(`{"user": `+quoted+`, "item": `+quoted+`, "rating": 1}`+"\n", 2),
		"JSON sums":       strings.Repeat(`{"user": `+quoted+`, "item": `+quoted+`, "rating": 1e308}`+"\n", 2),
	} {
		o := Options{}
		if name == "JSON sums" {
			o.Duplicates = Sum
		}
		_, _, err := ingestText(t, in, o)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if text := err.Error(); strings.ContainsFunc(text, unicode.IsControl) || strings.ContainsRune(text, 0x202e) || strings.Contains(text, "\xff") {
			t.Errorf("%s: %q", name, text)
		}
	}
}
