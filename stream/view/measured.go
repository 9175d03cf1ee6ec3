package view

import "fmt"

// Measured returns all that Measure has found, numbers in an order that belongs to the pipeline and to the
// orientation of the source: see Recall.
func (v *View) Measured() [][]float64 {
	all := [][]float64{{v.norm, v.terms}}
	for _, s := range v.statistics {
		if s.set != nil {
			all = append(all, s.of())
		}
	}
	for _, o := range v.ops {
		all = append(all, []float64{o.c}, o.col, o.keep)
	}
	return all
}

// Lengths returns how many numbers each part of Measured has.
func (v *View) Lengths() []int64 {
	all := []int64{2}
	for _, s := range v.statistics {
		if s.set != nil {
			all = append(all, s.n)
		}
	}
	for i := range v.ops {
		col, keep := v.numbers(&v.ops[i])
		all = append(all, 1, col, keep)
	}
	return all
}

// Recall makes v what the view is that has returned these numbers from Measured, of the same Fingerprint: the
// source is not read. They are v's from then on.
func (v *View) Recall(measured [][]float64) error {
	want := v.Lengths()
	if len(measured) != len(want) {
		return fmt.Errorf("view: %d parts have been measured, %v has %d", len(measured), v.pipeline, len(want))
	}
	for i, part := range measured {
		if int64(len(part)) != want[i] {
			return fmt.Errorf("view: part %d that has been measured has %d numbers, %v has %d", i, len(part), v.pipeline, want[i])
		}
	}
	next := func() (part []float64) {
		part, measured = measured[0], measured[1:]
		return part
	}
	first := next()
	v.norm, v.terms = first[0], first[1]
	for _, s := range v.statistics {
		if s.set != nil {
			s.set(next())
		}
	}
	for i := range v.ops { // what derives from statistics is among these, with the bits that it had
		o := &v.ops[i]
		o.c, o.col, o.keep = next()[0], next(), next()
		if len(o.col) == 0 {
			o.col = nil
		}
	}
	v.last, v.measured = nil, true
	v.prepare(len(v.ops))
	return nil
}
