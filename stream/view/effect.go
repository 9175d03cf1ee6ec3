package view

import (
	"encoding/json"
	"fmt"
)

// Effect is what a step does, as far as that is known before anything is read.
type Effect struct {
	Step    string `json:"step"`    // name of the step
	Reads   int    `json:"reads"`   // number of times that the store is read for the statistics of the step
	Pattern string `json:"pattern"` // which elements are not 0 after the step, in words
	Entries string `json:"entries"` // how many entries there are after the step, in words
	Low     bound  `json:"low"`     // lower bound of the values of entries; null if none is known
	High    bound  `json:"high"`    // upper bound of the values of entries; null if none is known
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
		case s.is(s.kind().zeroes):
			e.Entries = "those that do not become 0"
		}
		dense = dense || s.fills()
		if dense {
			e.Pattern = "all" + of + ", of which those without an entry take no memory"
		}
		low, high = s.bounds(low, high)
		e.Low, e.High = bound(low), bound(high)
		all = append(all, e)
	}
	return all
}
