package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// integersFrom writes 300 entries in rows 1 to 15 and columns 1 to 20, whose values are integers from a number on, then 70
// entries of 5 in the rows from 20 on.
func integersFrom(from int, sep string) string {
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "%d%s%d%s%d\n", i/20+1, sep, i%20+1, sep, from+i)
	}
	for i := range 70 {
		fmt.Fprintf(&b, "%d%s1%s5\n", 20+i, sep, sep)
	}
	return b.String()
}

// TestFractionsAfterIntegers: the statistics of integers that go on in another process, or after entries in order, still tell
// whether all integers are float32s.
func TestFractionsAfterIntegers(t *testing.T) {
	for _, from := range []int{7, 1<<24 + 1} {
		a, b := write(t, "a", integersFrom(from, ",")), write(t, "b", "99,1,0.5\n")
		all, store, out := target(t), target(t), target(t)
		mustIngest(t, []string{a, b}, all, Options{})
		want := vfstest.Contents(t, all)
		mustIngest(t, []string{a}, store, Options{})
		if _, err := Append(t.Context(), store, []string{b}, "", Options{}); err != nil {
			t.Errorf("append: %v", err)
		} else if diff := cmp.Diff(want, vfstest.Contents(t, store)); diff != "" {
			t.Errorf("append: another store:\n%s", diff)
		}

		u := &unlucky{inputs: []string{a, b}, plan: tiny()}
		fsys, opened := &vfstest.FaultFS{FS: lazyFS{vfs.OS()}}, 0
		fsys.Inject = oneByOne(func(op vfstest.Op) error {
			if op.Kind == vfstest.OpOpen && op.Name == b {
				if opened++; opened == 3 { // after its sum and the estimate
					return vfstest.ErrDead
				}
			}
			return nil
		})
		o := Options{FS: fsys, CheckpointEvery: 1}
		if _, err := ingest(t.Context(), u.inputs, out, o.withDefaults(), u.plan); err == nil {
			t.Fatal("the second input was read")
		}
		if rep, _, err := u.run(t, out, -1); err != nil || rep.Resumes != 1 {
			t.Errorf("resume: %+v, %v", rep, err)
		} else if diff := cmp.Diff(want, vfstest.Contents(t, out)); diff != "" {
			t.Errorf("resume: another store:\n%s", diff)
		}

		var m strings.Builder
		fmt.Fprintf(&m, "%%%%MatrixMarket matrix coordinate real general\n400 20 470\n%s", integersFrom(from, " "))
		for i := range 99 { // the rows from 101 on come too late
			fmt.Fprintf(&m, "%d 1 5\n", 100+2*i%99+i/50*100)
		}
		m.WriteString("98 1 0.5\n")
		bothWays(t, write(t, "in.mtx", m.String()), Options{}, 1<<20)
	}
}
