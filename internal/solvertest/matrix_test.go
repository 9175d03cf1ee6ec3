package solvertest

import (
	"testing"
)

// A matrix in memory is the one that it was made of.
func TestCheckMatrix(t *testing.T) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			CheckMatrix(t, NewDense(c.A), c.A)
		})
	}
}
