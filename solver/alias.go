package solver

import (
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

type (
	Method     = method.Method
	Traits     = method.Traits
	Setting    = method.Setting
	Workload   = method.Workload
	Effort     = method.Effort
	Run        = method.Run
	Recurrence = method.Recurrence
	Alone      = method.Alone
	RitzPair   = method.RitzPair
	Evidence   = method.Evidence
	State      = method.State
	Part       = method.Part
)

var (
	Single  = method.Single
	Restore = method.Restore
)

type (
	GradientDescent = gd.Descent
	Power           = power.Iteration
	Polyak          = momentum.Polyak
	Nesterov        = momentum.Nesterov
	NesterovGeneral = momentum.NesterovGeneral
)

type (
	Block  = block.Descent
	Krylov = lanczos.Krylov
)

// Methods is all.Methods.
func Methods() []Method { return all.Methods() }
