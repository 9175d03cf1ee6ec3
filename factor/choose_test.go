package factor

import (
	"testing"

	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// Every method can be told by flags, and is the same again.
func TestMethodsHaveFlags(t *testing.T) {
	for _, m := range []method.Method{
		gd.Descent{Eta: 0.5}, gd.Descent{Eta: 0.25}, power.Iteration{}, momentum.Polyak{Eta: 0.5, Beta: 0.5}, momentum.Nesterov{Eta: 0.5},
		momentum.NesterovGeneral{Mu: 0.01, Rho: 100}, block.Descent{Columns: 7}, block.Descent{Oversample: 3}, lanczos.Krylov{Columns: 2, Basis: 20},
	} {
		if got := canonical(m, 1); got != m {
			t.Errorf("%+v becomes %+v", m, got)
		}
	}
}

// What a method finds itself is what is right for the number of triplets.
func TestFoundSettings(t *testing.T) {
	for _, rank := range []int{1, 10, 50} {
		want := lanczos.Krylov{}.Traits(rank).Settings
		got, ok := canonical(lanczos.Krylov{}, rank).(lanczos.Krylov)
		if !ok || float64(got.Columns) != want[0].Value || float64(got.Basis) != want[1].Value || got.Basis < rank {
			t.Errorf("%d triplets: %+v, want %v and %v", rank, got, want[0].Value, want[1].Value)
		}
	}
}
