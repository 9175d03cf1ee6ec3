package heap

import (
	"testing"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/stream"
)

// TestHeapLimitLetsTheCollectorRest: the collector need not run while all planned memory is in use.
// Its goal under a limit is that of the runtime's gcControllerState.memoryLimitHeapGoal.
func TestHeapLimitLetsTheCollectorRest(t *testing.T) {
	for _, resident := range []int64{0, 1 << 20, 100 << 20, 14 << 30, 1 << 40} {
		p := factor.Memory{Resident: resident, Parts: []stream.Part{
			{Name: "runtime", Bytes: 20 << 20}, {Name: "vectors", Bytes: 10 << 20, Heap: true}, {Name: "garbage", Bytes: 3 << 20, Heap: true},
			{Name: "resident blocks", Bytes: resident, Heap: true},
		}}
		inside, outside := p.Heap()
		p.Budget = inside + outside + resident/64 // the part of the budget that a plan leaves free beside resident blocks
		limit, live := Planned(p), resident+10<<20
		goal := limit - max(limit/100*3, 1<<20)
		if rest := goal - live; rest < 1<<20 {
			t.Errorf("%d resident: goal %d of limit %d is only %d over what is held", resident, goal, limit, rest)
		}
		if most := p.Budget - 20<<20; goal > most {
			t.Errorf("%d resident: goal %d is beyond the %d that the budget leaves", resident, goal, most)
		}
	}
}

// TestPartsCountGarbage: the planned memory includes garbage, as much as can accumulate within the budget.
func TestPartsCountGarbage(t *testing.T) {
	for name, c := range map[string]struct{ budget, heap, want int64 }{
		"a small run":   {8 << 30, 20 << 20, 128 << 20},
		"a large one":   {8 << 30, 1 << 30, 1 << 30},
		"a full budget": {100 << 20, 70 << 20, 10 << 20},
		"no room":       {90 << 20, 70 << 20, 0},
	} {
		planned := []stream.Part{{Name: "runtime", Bytes: 20 << 20}, {Name: "vectors", Bytes: c.heap, Heap: true}}
		sum := int64(0)
		for _, p := range Parts(factor.Memory{Budget: c.budget, Parts: planned}) {
			sum += p.Bytes
		}
		if got := sum - 20<<20 - c.heap; got != c.want || sum > c.budget {
			t.Errorf("%s: %d of garbage, want %d", name, got, c.want)
		}
	}
}
