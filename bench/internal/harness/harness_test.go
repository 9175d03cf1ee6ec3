package harness

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

func TestSizes(t *testing.T) {
	var n int64
	f := flag.NewFlagSet("", flag.ContinueOnError)
	SizeVar(f, &n, "size", "20GB", "")
	if err := f.Parse(nil); err != nil || n != 20e9 || !strings.Contains(f.Lookup("size").Usage, "20GB") {
		t.Errorf("%d, %v, %s", n, err, f.Lookup("size").Usage)
	}
	if err := f.Parse([]string{"-size", "256MiB"}); err != nil || n != 256<<20 {
		t.Errorf("%d, %v", n, err)
	}
	if err := f.Parse([]string{"-size", "MiB"}); err == nil || n != 256<<20 {
		t.Errorf("%d, %v", n, err)
	}
}

func TestWrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "report")
	must.Do(t, Write(name, []int{1, 2}, "# both\n"))
	data, err := os.ReadFile(name + ".json")
	var x []int
	if err != nil || json.Unmarshal(data, &x) != nil || len(x) != 2 {
		t.Errorf("%s, %v", data, err)
	}
	if text, err := os.ReadFile(name + ".md"); err != nil || string(text) != "# both\n" {
		t.Errorf("%s, %v", text, err)
	}
}
