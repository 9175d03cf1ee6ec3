package stream_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

func TestMeasure(t *testing.T) {
	const rows, cols = 20000, 300                                                                     // 9 blocks
	store := csrtest.Build(t, cols, ratings(rows, cols, 60), csr.CreateOptions{ShardSize: 128 << 10}) // one span per shard
	widths := []int{1, 4, 16}
	p, err := stream.Measure(t.Context(), store, widths, 2, time.Hour) // enough time for all spans
	must.Do(t, err)
	if p.Entries != store.NNZ() {
		t.Errorf("%d entries were looked at, the store has %d", p.Entries, store.NNZ())
	}
	if len(p.Multiply) != len(widths) || p.Bandwidth < 0 {
		t.Errorf("%+v", p)
	}
	for _, ns := range append(p.Multiply, p.Decode) {
		if !(ns > 0) || math.IsInf(ns, 1) {
			t.Errorf("%+v: a cost of %v", p, ns)
		}
	}
	// A limit that is over at once leaves one span of each place.
	if p, err = stream.Measure(t.Context(), store, widths, 1, 1); err != nil || p.Entries == 0 || p.Entries == store.NNZ() {
		t.Errorf("%d entries in no time, %v", p.Entries, err)
	}
}

func TestMeasureFails(t *testing.T) {
	store := csrtest.Build(t, 300, ratings(600, 300, 60), csr.CreateOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stream.Measure(ctx, store, []int{1}, 1, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	empty := csrtest.Build(t, 3, make([][]csrtest.Entry, 5), csr.CreateOptions{})
	if _, err := stream.Measure(t.Context(), empty, []int{1}, 1, time.Second); err == nil {
		t.Error("an empty store has costs")
	}
}

// TestPlanFor checks that PlanFor gives the plan of New, or an error if New does.
func TestPlanFor(t *testing.T) {
	store := csrtest.Build(t, 300, ratings(6000, 300, 60), csr.CreateOptions{})
	for _, o := range []stream.Options{{}, {Width: 4, Rank: 2}, {Memory: 36 << 20, Width: 16, Workers: 2}, {Memory: 1 << 20}} {
		want, wantErr := stream.New(store, o)
		got, err := stream.PlanFor(store, o)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%+v: %v, New %v", o, err, wantErr)
		}
		if err != nil {
			continue
		}
		if got.Total() != want.Plan().Total() || got.Resident != want.Plan().Resident {
			t.Errorf("%+v: %+v, New %+v", o, got, want.Plan())
		}
		if o.Memory > 0 && want.Info().MaxWidth != max(1, o.Width) || o.Memory == 0 && want.Info().MaxWidth != 0 {
			t.Errorf("%+v: at most %d columns", o, want.Info().MaxWidth)
		}
		if want.Info().NNZ != store.NNZ() {
			t.Errorf("%d entries, the store has %d", want.Info().NNZ, store.NNZ())
		}
	}
}
