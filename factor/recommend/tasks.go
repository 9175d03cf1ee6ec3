package recommend

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	objects "github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// Kind is the key of Make in the map Make of a remote.Worker.
const Kind = "recommend"

// spec describes the tasks of RowsBy. Their input holds the numbers of the candidates.
type spec struct {
	Result string       `json:"result"`
	CRC    csr.Checksum `json:"crc"` // checksum of result.json
	Store  string       `json:"store"`
	N      int          `json:"n"`
	Seen   bool         `json:"seen"`
	By     Scoring      `json:"by"`
}

// RowsBy is Rows of all rows, computed by tasks. The workers have Make under Kind, and see result and store under the same paths.
// The results are the same. Rows and Keep of Options are not used.
func RowsBy(ctx context.Context, result *factor.Result, store *csr.Store, o Options, by remote.Options, emit func(row int64, items []Item) error) (*Summary, error) {
	f, err := Predictions(ctx, result)
	if err != nil {
		return nil, err
	}
	r, err := newRun(f, store, o)
	if err != nil {
		return nil, err
	}
	s := spec{CRC: result.CRC, N: r.N, Seen: r.Seen, By: r.By}
	s.Result, err = filepath.Abs(result.Dir())
	if err == nil {
		s.Store, err = objects.Abs(store.Path())
	}
	if err != nil {
		return nil, err
	}
	by.Local(r.Memory, r.Reserve+r.held, r.Workers)
	in := make([]float64, len(o.Candidates))
	for i, col := range o.Candidates {
		in[i] = float64(col)
	}
	done := progress(o.Progress, nil, f.Rows)
	items := make([]Item, r.N)
	// A row of the tasks is 1 and the number of its items, or 0 if it has no entries, followed by the items.
	return &r.sum, remote.Rows(ctx, by, Kind, s, in, f.Rows, 1+2*r.N, func(first int64, rows *mat.Dense) error {
		n, _ := rows.Dims()
		for i := range n {
			x := rows.RawRowView(i)
			count := max(0, int(x[0])-1)
			for j := range items[:count] {
				items[j] = Item{uint32(x[1+2*j]), x[2+2*j]}
			}
			if err := r.found(first+int64(i), x[0] == 0, items[:count], emit); err != nil {
				return err
			}
		}
		done(n)
		return nil
	})
}

// Make computes the rows of a task of RowsBy.
func Make(ctx context.Context, w *remote.Worker, job remote.Job, in []float64, rows int, write func(row []float64) error) (err error) {
	var s spec
	if err := json.Unmarshal(job.Spec, &s); err != nil {
		return err
	}
	fsys := cmp.Or(w.FS, vfs.OS())
	result, err := factor.OpenFS(fsys, s.Result)
	if err != nil {
		return err
	}
	if result.CRC != s.CRC {
		return fmt.Errorf("%s is another result than the driver's: the checksum of its %s is %v, not %v", s.Result, factor.ResultFile, result.CRC, s.CRC)
	}
	store, err := csr.Open(s.Store, csr.OpenOptions{FS: fsys, Missing: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := Belongs(result, store); err != nil {
		return err
	}
	f, err := Predictions(ctx, result)
	if err != nil {
		return err
	}
	o := Options{N: s.N, Seen: s.Seen, By: s.By, From: job.First, To: job.First + int64(rows), Memory: w.Memory, Reserve: w.Reserve + int64(16*len(in)), Workers: w.Workers}
	for _, col := range in {
		o.Candidates = append(o.Candidates, uint32(col))
	}
	x := make([]float64, 1+2*s.N)
	next := o.From
	// upTo writes the rows before a row; they have no entries.
	upTo := func(row int64) error {
		clear(x)
		for ; next < row; next++ {
			if err := write(x); err != nil {
				return err
			}
		}
		return nil
	}
	_, err = Rows(ctx, f, store, o, func(row int64, items []Item) error {
		if err := upTo(row); err != nil {
			return err
		}
		x[0], next = float64(1+len(items)), row+1
		for j, item := range items {
			x[1+2*j], x[2+2*j] = float64(item.Index), item.Score
		}
		return write(x)
	})
	if err != nil {
		return err
	}
	return upTo(o.To)
}
