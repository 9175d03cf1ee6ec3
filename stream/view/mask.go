package view

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A mask multiplies columns, or rows, by 1 if they are kept and by 0 if not. The others are zero in B
// after any further steps, since steps that would fill them are refused.

// Mask says which of the user's columns or rows are kept.
type Mask struct {
	kept []bool
	sum  string
}

// NewMask returns the mask that keeps the columns or rows for which kept is true.
func NewMask(kept []bool) *Mask {
	b := []byte("gdsvd-mask/1\n")
	for _, k := range kept {
		if k {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	h := sha256.Sum256(b)
	return &Mask{kept, hex.EncodeToString(h[:16])}
}

func (m *Mask) count() (n int) {
	for _, k := range m.kept {
		if k {
			n++
		}
	}
	return n
}

// Modes of keep.
const (
	ofFile     = "file"        // Step.List is the name of a file
	ofMask     = "sha256"      // Step.List is the checksum of Step.Mask, which is nil when it has just been parsed
	seurat     = "seurat"      // the Step.X most variable columns or rows
	cellRanger = "cell_ranger" // as seurat, with other bins and norms
)

var keepStep = kind{
	name: "keep", usage: "keep=columns|rows,FILE or keep=columns|rows,hvg:N[,flavor:seurat|cell_ranger]", masks: true,
	parse: parseKeep, form: keepForm, compile: (*compiler).keep, bounds: withZero,
}

var dropStep = kind{
	name: "drop", usage: "drop=columns|rows,count<N with N > 0", dense: ofEntries, masks: true,
	parse: parseDrop, compile: (*compiler).drop, bounds: withZero,
	form: func(s Step) string { return "=" + s.Axis + ",count<" + text(s.X) },
}

// withZero returns the bounds of entries that may become 0.
func withZero(_ Step, low, high float64) (float64, float64) { return min(low, 0), max(high, 0) }

func parseKeep(s *Step, a *args) {
	s.Axis = a.word("", "columns", "rows")
	if f, ok := a.option("hvg"); ok {
		s.X = a.numberOf(f, "the number of columns is a whole number above 0", func(x float64) bool { return x >= 1 && x <= 1<<40 && x == float64(int64(x)) })
		s.Mode = a.choice("flavor", seurat, seurat, cellRanger)
		return
	}
	f, ok := a.take(func(string) bool { return true })
	if !ok {
		a.fail(a.step, "which columns is missing")
		return
	}
	s.Mode, s.List = ofFile, f.text
	if sum, ok := strings.CutPrefix(f.text, ofMask+":"); ok {
		s.Mode, s.List = ofMask, sum
		if b, err := hex.DecodeString(sum); err != nil || len(b) != 16 || strings.ToLower(sum) != sum {
			a.fail(f, "a checksum has 32 digits from 0 to f")
		}
	}
}

func keepForm(s Step) string {
	switch s.Mode {
	case ofFile:
		return "=" + s.Axis + "," + s.List
	case ofMask:
		return "=" + s.Axis + "," + ofMask + ":" + s.List
	}
	return "=" + s.Axis + ",hvg:" + text(s.X) + ",flavor:" + s.Mode
}

func parseDrop(s *Step, a *args) {
	s.Axis = a.word("", "columns", "rows")
	f, ok := a.take(func(text string) bool { return strings.HasPrefix(text, "count") })
	what, n, below := f.cut("<")
	if !ok || !below || what.text != "count" {
		a.fail(a.step, "which columns is missing")
		return
	}
	s.X = a.numberOf(n, "N is a number above 0", positive)
}

func (s Step) hvg() bool { return s.Mode == seurat || s.Mode == cellRanger }

func across(axis string) string {
	if axis == "rows" {
		return "columns"
	}
	return "rows"
}

func (s Step) masks() bool { return s.kind().masks }

// lists reports whether the step keeps a list that Pipeline.Resolve has still to find.
func (s Step) lists() bool {
	return (s.Mode == ofFile || s.Mode == ofMask) && s.Mask == nil
}

// Resolve returns the pipeline with the masks of its lists, for which it calls find: with the name of the file or, if
// file is "", for the mask that a result keeps beside the checksum of the pipeline. A resolved pipeline is named by
// what it keeps, not by the files with the lists.
func (p Pipeline) Resolve(find func(step int, file string) (*Mask, error)) (Pipeline, error) {
	q := slices.Clone(p)
	for i, s := range q {
		if !s.lists() {
			continue
		}
		file := s.List
		if s.Mode == ofMask {
			file = ""
		}
		m, err := find(i, file)
		if err != nil {
			return nil, err
		}
		if s.Mode == ofMask && m.sum != s.List {
			return nil, fmt.Errorf("the %s kept have the checksum %s, not that of %v", s.Axis, m.sum, s)
		}
		q[i].Mode, q[i].List, q[i].Mask = ofMask, m.sum, m
	}
	return q, nil
}

// Keep returns the pipeline with keep=columns,WHAT before its first step that turns zeros into other
// numbers, or at its end. WHAT may be the name of a file with commas in it.
func (p Pipeline) Keep(what string) (Pipeline, error) {
	step, err := parseStep(field{"keep=columns," + what, 0})
	switch {
	case err != nil && strings.Contains(what, ",") && !strings.HasPrefix(what, "hvg:"): // the name of a file
		step = Pipeline{{Name: keepStep.name, Axis: "columns", Mode: ofFile, List: what}}
	case err != nil:
		return nil, err
	}
	at := len(p)
	for i, s := range slices.Backward(p) {
		switch {
		case s.Name == pattersonStep.name: // patterson is of columns, and begins a pipeline
			at = i + 1
		case s.fills():
			at = i
		}
	}
	q := slices.Insert(slices.Clone(p), at, step...)
	return q, q.check()
}

// mask adds the op of a mask and returns the function that makes the mask, which must be called before the op is
// applied to any row. The mask keeps what keep is called with.
func (c *compiler) mask(axis string) (set func() (keep func(j int))) {
	at := len(c.ops)
	n, kind := c.src.Cols(), colFactor
	if c.local(axis) {
		n, kind = c.src.Rows(), rowMask
	}
	set = func() (keep func(j int)) {
		col := make([]float64, n)
		c.ops[at].col = col
		return func(j int) { col[j] = 1 }
	}
	c.op(op{kind: kind})
	kept := func(x []float64) { c.ops[at].col = x }
	if kind == rowMask {
		kept = nil // new rows are not in the mask
	}
	c.tell("mask", n, func() []float64 { return c.ops[at].col }, kept)
	c.masks = append(c.masks, masking{axis, at})
	return set
}

func (c *compiler) keep(s Step) {
	others, n := c.dims()
	if s.Axis == "rows" {
		others, n = n, others
	}
	if !s.hvg() {
		if s.Mask == nil || len(s.Mask.kept) != int(n) {
			panic(fmt.Sprintf("view: %v has no mask of %v %s", s, n, s.Axis))
		}
		keep := c.mask(s.Axis)()
		for j, kept := range s.Mask.kept {
			if kept {
				keep(j)
			}
		}
		return
	}
	var before []func() []float64 // factors of earlier masks, called when these are measured
	for _, m := range c.masks {
		switch o := func() *op { return &c.ops[m.op] }; {
		case m.axis != s.Axis:
		case o().kind == rowFactor:
			o().keeps = true
			before = append(before, func() []float64 { return o().keep })
		default:
			before = append(before, func() []float64 { return o().col })
		}
	}
	var set func() (keep func(j int))
	wanted := need{moments: itself, byRow: c.local(s.Axis)}
	if s.Mode == seurat {
		wanted.moments = math.Expm1
	}
	c.stage(wanted, func(sums *sums) {
		some := slices.ContainsFunc(sums.moments.square, func(x sum) bool { return x.hi != 0 })
		part := func(j int) bool {
			return !slices.ContainsFunc(before, func(factors func() []float64) bool { return factors()[j] == 0 })
		}
		if kept := sums.moments.highlyVariable(s.Mode, int(s.X), others, sums.need.rounding, part, set); kept == 0 && some {
			c.refused = fmt.Errorf("view: %v keeps none of %v %s: their dispersions cannot be compared, as when all of a bin of means are equal; use the other flavor, or a list of ids as keep=%s,FILE", s, n, s.Axis, s.Axis)
		}
	})
	set = c.mask(s.Axis)
}

// masking is the mask that an op makes.
type masking struct {
	axis string
	op   int
}

func (c *compiler) drop(s Step) {
	at := len(c.ops)
	c.factors(s.Axis, "mask", count, func(x float64) float64 {
		if x < s.X {
			return 0
		}
		return 1
	})
	c.masks = append(c.masks, masking{s.Axis, at})
}
