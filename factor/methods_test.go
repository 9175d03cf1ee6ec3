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
