package check

import (
	"cmp"
	"context"
	"encoding/json"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	objects "github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/stream/remote"
)

// Kind is the key of Make in the map Make of a remote.Worker.
const Kind = "check"

type spec struct {
	Store       string `json:"store"`
	Fingerprint string `json:"fingerprint"`
}

// StoreBy is csr.Check with shards that are read by tasks; the workers have Make under Kind. This process finds out what is wrong
// with shards that are not sound.
func StoreBy(ctx context.Context, path string, o csr.CheckOptions, by remote.Options) (*csr.CheckReport, error) {
	o.Shards = func(ctx context.Context, m *csr.Manifest) ([]bool, error) {
		at, err := objects.Abs(path)
		if err != nil {
			return nil, err
		}
		sound := make([]bool, len(m.Shards))
		return sound, remote.Rows(ctx, by, Kind, spec{at, m.Fingerprint}, nil, int64(len(sound)), 1, func(first int64, rows *mat.Dense) error {
			for i, x := range rows.RawMatrix().Data {
				sound[int(first)+i] = x == 1
			}
			return nil
		})
	}
	return csr.Check(ctx, path, o)
}

// Make writes, for each shard of a task of StoreBy, 1 if the shard is sound, else 0.
func Make(ctx context.Context, w *remote.Worker, job remote.Job, _ []float64, rows int, write func(row []float64) error) error {
	var s spec
	if err := json.Unmarshal(job.Spec, &s); err != nil {
		return err
	}
	first := int(job.First)
	sound, err := csr.SoundShards(ctx, cmp.Or(w.FS, vfs.OS()), s.Store, s.Fingerprint, first, first+rows)
	if err != nil {
		return err
	}
	for _, ok := range sound {
		x := []float64{0}
		if ok {
			x[0] = 1
		}
		if err := write(x); err != nil {
			return err
		}
	}
	return nil
}

// engine begins the tasks that multiply by the matrix.
func (t *triplets) engine(subject remote.Subject, vectors int64) (err error) {
	by, told := *t.Remote, int64(0)
	by.Local(t.Memory, 2*8*vectors, t.Workers) // vectors and sums of the driver
	by.Told = func(s remote.Stats) {
		t.store.Read(s.Read - told)
		told = s.Read
	}
	t.tasks, err = remote.New(subject, by)
	return err
}
