package view

import (
	"encoding/json"
	"fmt"
	"math"
)

// Effect is what a step does, as far as that is known before anything is read.
type Effect struct {
	Step    string `json:"step"`
	Reads   int    `json:"reads"`   // of the store, for its statistics
	Pattern string `json:"pattern"` // of what is not 0
	Entries string `json:"entries"` // how many there are, beside those of before
	// Low and High bound the values of entries; infinite where no bound is known.
	Low  bound `json:"low"`
	High bound `json:"high"`
}

// bound is a number whose JSON form is null when it is infinite.
type bound float64

func (b bound) MarshalJSON() ([]byte, error) {
	if !finite(float64(b)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(b))
}

// Effects returns what the steps do to entries from low to high.
func (v *View) Effects(low, high float64) (all []Effect) {
	reads := make([]int, len(v.pipeline))
	for _, s := range v.stages {
		if !s.same {
			reads[s.step]++
		}
	}
	dense, of := false, ""
	for i, s := range v.pipeline {
		e := Effect{Step: s.String(), Reads: reads[i], Pattern: "that of the entries", Entries: "all"}
		switch {
		case s.masks():
			of = " of the " + s.Axis + " that are kept"
			e.Entries = "those" + of
			if s.Mask != nil {
				e.Entries = fmt.Sprintf("those of %d %s", s.Mask.count(), s.Axis)
			}
		case s.Mode == ">=" || s.Name == "ppmi" || s.Name == "clip" && (s.X == 0 || s.Y == 0):
			e.Entries = "those that do not become 0"
		case s.Name == "multiply" && s.X == 0:
			e.Entries = "none"
		}
		if dense = dense || s.fills(); dense {
			e.Pattern = "all" + of + ", of which those without an entry take no memory"
		}
		low, high = s.bounds(low, high)
		e.Low, e.High = bound(low), bound(high)
		all = append(all, e)
	}
	return all
}

// bounds are those of what the step makes of entries within bounds.
func (s Step) bounds(low, high float64) (float64, float64) {
	unknown, none := math.Inf(-1), math.Inf(1)
	positive := low >= 0
	least := unknown
	if positive {
		least = 0
	}
	mapped := func(f func(float64) float64) (float64, float64) {
		a, b := f(low), f(high)
		if math.IsNaN(a) || math.IsNaN(b) {
			return unknown, none
		}
		return min(a, b), max(a, b)
	}
	switch s.Name {
	case "binary":
		return 0, 1
	case "clip":
		return mapped(func(v float64) float64 { return min(max(v, s.X), s.Y) })
	case "log1p":
		return mapped(math.Log1p)
	case "sqrt":
		return mapped(math.Sqrt)
	case "power":
		if positive {
			return mapped(func(v float64) float64 { return math.Pow(v, s.X) })
		}
	case "multiply":
		if s.X == 0 {
			return 0, 0
		}
		return mapped(func(v float64) float64 { return s.X * v })
	case "confidence":
		return mapped(func(v float64) float64 { return 1 + s.X*v })
	case "normalize":
		switch {
		case s.Mode == "total" && positive:
			return 0, s.X
		case s.Mode == "total" || s.Mode == "median":
			return least, none
		case positive:
			return 0, 1
		}
		return -1, 1
	case "tfidf":
		switch {
		case s.Mode == "implicit" || s.Norm == "none" && s.Mode == "sklearn":
		case positive && !s.Sublinear:
			return 0, 1
		default:
			return -1, 1
		}
	case "keep", "drop":
		return min(low, 0), max(high, 0)
	case "ppmi":
		return 0, none
	case "weight":
		return least, none
	case "laplacian":
		if positive {
			return 0, 1
		}
	}
	return unknown, none
}
