package evaluate

import (
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/internal/mix"
)

const replicates = 400

// sample fills counts with how often a user is in each replicate.
func sample(counts *[replicates]uint8, seed uint64, user int64) {
	state := mix.Next(seed) ^ mix.Next(uint64(user)*mix.Golden)
	for r := 0; r < replicates; r += 4 {
		state = mix.Next(state)
		for i, word := 0, state; i < 4; i, word = i+1, word>>16 {
			n := uint8(0)
			for n < uint8(len(poisson)) && uint16(word) >= poisson[n] {
				n++
			}
			counts[r+i] = n
		}
	}
}

// poisson has the probabilities that a variable of mean 1 is at most 0, 1, …, times 2¹⁶.
var poisson = [...]uint16{24109, 48219, 60274, 64292, 65297, 65498, 65531, 65535}

// ratio is a metric of some users: a sum over another, for all users and in each replicate.
type ratio struct {
	sum, over float64
	sums      [replicates]float64
	overs     [replicates]float64
}

func (r *ratio) add(counts *[replicates]uint8, sum, over float64) {
	r.sum, r.over = r.sum+sum, r.over+over
	for i, n := range counts {
		r.sums[i] += float64(n) * sum
		r.overs[i] += float64(n) * over
	}
}

// values are the metric, and that of the replicates that have users.
func (r *ratio) values(root bool) (value float64, all []float64) {
	of := func(sum, over float64) float64 {
		if root {
			return math.Sqrt(sum / over)
		}
		return sum / over
	}
	for i := range r.sums {
		if r.overs[i] > 0 {
			all = append(all, of(r.sums[i], r.overs[i]))
		}
	}
	return of(r.sum, r.over), all
}

// interval encloses 95 % of some numbers, which it puts in order.
func interval(x []float64) (low, high float64) {
	if len(x) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(x)
	at := func(q float64) float64 {
		p := q * float64(len(x)-1)
		i := int(p)
		if i+1 == len(x) {
			return x[i]
		}
		return x[i] + (p-float64(i))*(x[i+1]-x[i])
	}
	return at(0.025), at(0.975)
}
