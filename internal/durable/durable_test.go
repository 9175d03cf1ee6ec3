package durable_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestReplace fails each file operation in turn: name holds the old or the new contents, and no
// other file is left.
func TestReplace(t *testing.T) {
	for at := 0; ; at++ {
		dir := t.TempDir()
		name, tmp := filepath.Join(dir, "x"), filepath.Join(dir, "x.tmp")
		must.Do(t, os.WriteFile(name, []byte("old"), 0o666))
		must.Do(t, os.WriteFile(tmp, []byte("of a dead process"), 0o666))
		fsys := &vfstest.FaultFS{Inject: vfstest.FailAt(at)}
		err := durable.Replace(fsys, name, tmp, durable.Bytes([]byte("new")))
		want := "new"
		if err != nil {
			want = "old"
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("operation %d fails: %q, %v; want %q", at, got, err, want)
		}
		if _, gone := os.Stat(tmp); !errors.Is(gone, fs.ErrNotExist) {
			t.Errorf("operation %d fails: the other name is there: %v", at, gone)
		}
		if err == nil {
			if at < 5 {
				t.Errorf("%d operations", at)
			}
			return
		}
	}
}

// TestPublish: the directory is synced once the file has its name.
func TestPublish(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	var kinds []vfstest.Kind
	fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
		if _, err := os.Stat(name); err == nil {
			kinds = append(kinds, o.Kind)
		}
		return nil
	}}
	must.Do(t, durable.Publish(fsys, name, durable.Bytes([]byte("new"))))
	if want := []vfstest.Kind{vfstest.OpSyncDir, vfstest.OpUnlock}; !slices.Equal(kinds, want) {
		t.Errorf("operations with the file there: %v, want %v", kinds, want)
	}
}

// TestFile checks that the written bytes are there after Close, and that the failure of any operation is returned.
func TestFile(t *testing.T) {
	part := []byte(strings.Repeat("0123456789", 1<<17))
	write := func(fsys vfs.FS, name string) error {
		f, err := durable.Create(fsys, name)
		if err != nil {
			return err
		}
		for range 8 {
			if _, err := f.Write(part); err != nil {
				return errors.Join(err, f.Discard())
			}
		}
		if f.Size() != int64(8*len(part)) || f.Name() != name {
			t.Errorf("%d bytes in %s", f.Size(), f.Name())
		}
		return f.Close()
	}
	name := filepath.Join(t.TempDir(), "x")
	must.Do(t, write(vfs.OS(), name))
	if got, err := os.ReadFile(name); err != nil || string(got) != strings.Repeat(string(part), 8) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for at := range 4 {
		if err := write(&vfstest.FaultFS{Inject: vfstest.FailAt(at)}, filepath.Join(t.TempDir(), "x")); !errors.Is(err, vfstest.ErrInjected) {
			t.Errorf("operation %d fails: %v", at, err)
		}
	}
}

// TestSeal checks that a sealed text passes CheckSeal, and no longer after a change of any byte or a cut at any length.
func TestSeal(t *testing.T) {
	v := struct {
		Name string  `json:"name"`
		CRC  crc.Sum `json:"crc"`
	}{Name: "x"}
	text := must.Get(durable.Seal(&v, &v.CRC))(t)
	if at, err := durable.CheckSeal(text); err != nil {
		t.Errorf("byte %d: %v", at, err)
	}
	w := v
	if err := json.Unmarshal(text, &w); err != nil || w != v || v.CRC == 0 {
		t.Errorf("%+v, %v; want %+v", w, err, v)
	}
	for i := range text {
		text[i] ^= 1
		if _, err := durable.CheckSeal(text); err == nil {
			t.Errorf("byte %d may change", i)
		}
		text[i] ^= 1
		if _, err := durable.CheckSeal(text[:i]); err == nil {
			t.Errorf("%d bytes are enough", i)
		}
	}
}

// TestSparse checks that dense JSON, which decodes to many times its size, is refused, and that an indented text of
// small values is not.
func TestSparse(t *testing.T) {
	v := struct {
		List  []int
		Pairs [][2]int
		Text  string
		More  []map[string]int
	}{make([]int, 2e4), make([][2]int, 2e4), strings.Repeat(`{}[],"\\`, 10000), make([]map[string]int, 2e4)}
	for i := range v.More {
		v.More[i] = map[string]int{"": 0}
	}
	pairs, more := v, v
	pairs.List, pairs.Text, pairs.More = nil, "", nil
	more.List, more.Text, more.Pairs = nil, "", nil
	for _, v := range []any{v, pairs, more} {
		text, err := json.MarshalIndent(v, "", "  ")
		if err = cmp.Or(err, durable.Sparse(text)); err != nil {
			t.Errorf("%.60s…: %v", text, err)
		}
	}
	for _, part := range []string{"{},", "[],", "0,", `"",`, `"\"",[],`, "[[", "{}   ,   {}    ,"} {
		if text := "[" + strings.Repeat(part, 10000) + "0]"; durable.Sparse([]byte(text)) == nil {
			t.Errorf("%.30s… is taken", text)
		}
	}
}
