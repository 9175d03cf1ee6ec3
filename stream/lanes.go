package stream

import "github.com/gdsvd/gdsvd/stream/internal/kernel"

const (
	// maxLanes bounds the accumulators of a pass, and laneBytes does if there are more than
	// twoLanes: they are to stay in cache from block to block. Two there are of any size:
	// a lane that two processors share goes from one's cache to the other's with every
	// unit, which takes longer than what the second one saves. laneShare bounds what it
	// costs to clear them and to add them up: a lane must have that many entries a column.
	laneBytes = 8 << 20
	maxLanes  = 8
	twoLanes  = 2
	laneShare = 32

	// maxRun is how many units one behind the other are a lane's at most, and leastRuns how
	// many times each lane comes round at least if runs are longer than one. A worker
	// that has lost its processor in the middle of a run holds up the others only when
	// they come to that lane again: they have what it takes milliseconds to do until then.
	maxRun    = 12
	leastRuns = 16
)

// order is which units are added to which sums: runs of units go to each of several
// lanes in turn. The units of a lane are added one after the other, in ascending order.
type order struct{ lanes, run int }

// inOrder is that of what all units are handed to in ascending order.
var inOrder = order{lanes: 1, run: 1}

// lane is the lane that unit i belongs to.
func (o order) lane(i int) int { return i / o.run % o.lanes }

// first is the first unit of a lane.
func (o order) first(lane int) int { return lane * o.run }

// next is the unit of the same lane that follows i.
func (o order) next(i int) int {
	if i++; i%o.run == 0 {
		i += (o.lanes - 1) * o.run
	}
	return i
}

// orderOf is the order of a pass that adds units of n×l numbers: a function of the matrix and
// the width alone. It does not limit the useful workers: see accumulator. The number of lanes
// is a power of two, so that they are shared out evenly among as many workers.
func orderOf(n int64, l, units int, nnz int64) order {
	bytes := 8 * n * int64(kernel.Width(l))
	most := min(maxLanes, int64(units), max(twoLanes, laneBytes/(bytes+1)), nnz/(laneShare*n+1))
	o := order{lanes: 1}
	for int64(2*o.lanes) <= most {
		o.lanes *= 2
	}
	o.run = max(1, min(maxRun, units/(leastRuns*o.lanes)))
	return o
}
