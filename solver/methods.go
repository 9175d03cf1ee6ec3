package solver

// Methods lists the methods, one line each, in the order in which help does.
func Methods() []Method {
	return []Method{
		GradientDescent{},
		Polyak{},
		Nesterov{},
		NesterovGeneral{},
		Block{},
		Krylov{},
		Power{},
	}
}
