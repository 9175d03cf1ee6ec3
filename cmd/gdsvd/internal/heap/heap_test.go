package heap

import (
	"testing"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/stream"
)

// The collector must be able to rest while everything that is planned is held.
// Its goal under a limit is what the runtime's gcControllerState.memoryLimitHeapGoal says.
func TestHeapLimitLetsTheCollectorRest(t *testing.T) {
	for _, resident := range []int64{0, 1 << 20, 100 << 20, 14 << 30, 1 << 40} {
		p := factor.Memory{Resident: resident, Parts: []stream.Part{
			{Name: "runtime", Bytes: 20 << 20}, {Name: "vectors", Bytes: 10 << 20, Heap: true}, {Name: "garbage", Bytes: 3 << 20, Heap: true},
			{Name: "resident blocks", Bytes: resident, Heap: true},
		}}
		inside, outside := p.Heap()
		p.Budget = inside + outside + resident/64 // what a plan leaves beside resident blocks
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
