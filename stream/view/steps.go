package view

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// Step is one step of a pipeline. Which fields count depends on its name.
type Step struct {
	Name string
	Axis string // "rows", "columns", "both" or "global"
	Mode string // which of several forms
	X, Y float64

	// Of tfidf.
	Sublinear, Raw bool   // log of the counts; no smoothing
	Norm           string // "l1", "l2", "none"

	// Of keep.
	List string // the name of a file, or the checksum of Mask
	Mask *Mask  // the columns or rows of the list; see Pipeline.Resolve
}

// kind describes a step before it has parameters.
type kind struct {
	name, usage string
	dense       string // why it cannot follow a step that turns zeros into other numbers; "": it can

	parse func(*Step, *args) // nil: it has no parameters
	form  func(Step) string  // canonical form of the parameters; nil: none
	masks bool               // it makes rows or columns empty
	fills func(Step) bool    // it turns zeros into other numbers; nil: never, as below
	// cancels: entries become differences, which have fewer correct digits.
	cancels func(Step) bool
	zeroes  func(Step) bool // entries may become 0

	value   func(*Step, float64) float64                       // result of the step for a single value; nil: see compile
	compile func(*compiler, Step)                              // adds the ops and stages of the step; nil: value is applied
	bounds  func(s Step, low, high float64) (float64, float64) // bounds of the results for entries within bounds; nil: from value
}

// presets are names for pipelines.
var presets = map[string]string{
	"recsys":      "binary · normalize=rows,l2 · weight=columns,count:-0.3",
	"pca":         "center=columns",
	"pca-scaled":  "center=columns · scale=columns",
	"lsi":         "tfidf",
	"single-cell": "normalize=rows,total:median · log1p · center=columns",
	"cosine":      "normalize=rows,l2",
	"spectral":    "laplacian",
}

const (
	entrywise = "it would have to be computed for every zero, which are other numbers since %s"
	ofEntries = "it is of sums over the entries, and since %s the zeros are other numbers"
)

// kinds are all steps.
var kinds = []*kind{
	&binaryStep, &clipStep, &log1pStep, &sqrtStep, &powerStep, &multiplyStep, &confidenceStep, &normalizeStep, &tfidfStep, &bm25Step, &ppmiStep,
	&biasStep, &centerStep, &weightStep, &scaleStep, &laplacianStep, &keepStep, &dropStep, &correspondenceStep, &imputeStep, &pattersonStep, &pearsonStep,
}

func always(Step) bool     { return true }
func formX(s Step) string  { return "=" + text(s.X) }
func formXY(s Step) string { return "=" + text(s.X) + "," + text(s.Y) }

// unbounded returns the bounds of values of which no bound is known.
func unbounded() (low, high float64) { return math.Inf(-1), math.Inf(1) }

// asPositive returns the bounds of values that are not below 0 if entries are not below 0.
func asPositive(_ Step, low, _ float64) (float64, float64) {
	least, none := unbounded()
	if low >= 0 {
		least = 0
	}
	return least, none
}

func (s Step) kind() *kind {
	for _, k := range kinds {
		if k.name == s.Name {
			return k
		}
	}
	panic(fmt.Sprintf("view: there is no step %q", s.Name))
}

// String returns the step in its canonical form.
func (s Step) String() string {
	if k := s.kind(); k.form != nil {
		return s.Name + k.form(s)
	}
	return s.Name
}

// is reports whether a property that a kind may have holds for the step.
func (s Step) is(property func(Step) bool) bool { return property != nil && property(s) }
func (s Step) fills() bool                      { return s.is(s.kind().fills) }

// bounds returns the bounds of the results of the step for entries within bounds.
func (s Step) bounds(low, high float64) (float64, float64) {
	k := s.kind()
	switch {
	case k.bounds != nil:
		return k.bounds(s, low, high)
	case k.value == nil:
		return unbounded()
	}
	low, high = k.value(&s, low), k.value(&s, high)
	if math.IsNaN(low) || math.IsNaN(high) {
		return unbounded()
	}
	return min(low, high), max(low, high)
}

// centres reports whether the step subtracts the means of the user's rows, or columns.
func (s Step) centres(axis string) bool {
	return s.Name == "center" && (s.Axis == axis || s.Axis == "both") || s.Name == "patterson" && axis == "columns"
}

// History returns the beginning of the pipeline that decides what an entry counts when rows are described by
// their entries: binary, or nothing.
func (p Pipeline) History() Pipeline {
	if len(p) > 0 && p[0].Name == binaryStep.name {
		return p[:1]
	}
	return nil
}

// Value applies the leading steps that change each value by itself to v.
func (p Pipeline) Value(v float64) float64 {
	for i := range p {
		k := p[i].kind()
		if v == 0 || k.value == nil {
			break
		}
		v = k.value(&p[i], v)
	}
	return v
}

// WeightsColumns reports whether a step weights the user's columns.
func (p Pipeline) WeightsColumns() bool {
	return slices.ContainsFunc(p, func(s Step) bool { return s.Name == weightStep.name && s.Axis == "columns" })
}

// Bias reports whether the pipeline is a single bias step, which sides it has beside the mean, and its damping.
func (p Pipeline) Bias() (rows, columns bool, damping float64, ok bool) {
	if len(p) != 1 || p[0].Name != biasStep.name {
		return false, false, 0, false
	}
	rows, columns = p[0].sides()
	return rows, columns, p[0].X, true
}

// sides reports which sides the axis of a step includes.
func (s Step) sides() (rows, columns bool) {
	both := s.Axis == "both"
	return both || s.Axis == "rows", both || s.Axis == "columns"
}

// Centred returns the axis, columns or rows, along which the user's means are 0: "columns" if
// both are, "" if none is.
func (p Pipeline) Centred() string {
	centred := map[string]bool{}
	for _, s := range p {
		for _, axis := range axes {
			centred[axis] = centred[axis] && !((s.masks() || s.Name == scaleStep.name) && axis == across(s.Axis)) || s.centres(axis)
		}
	}
	for _, axis := range axes {
		if centred[axis] {
			return axis
		}
	}
	return ""
}

// axes are the sides of the user's matrix.
var axes = []string{"columns", "rows"}

func (p Pipeline) check() error {
	var since *Step
	masked := map[string]*Step{} // by axis
	centred := map[string]bool{}
	for i, s := range p {
		if s.Name == imputeStep.name && i > 0 {
			return fmt.Errorf("%v cannot follow %v: missing entries are those of the matrix itself; put it first", s, p[i-1])
		}
		why := s.kind().dense
		if s.hvg() {
			why = ofEntries
		}
		if since != nil && why != "" {
			return fmt.Errorf("%v cannot follow %v: "+why+"; put it before", s, since, since)
		}
		for axis, mask := range masked {
			if s.centres(across(axis)) || s.Name == laplacianStep.name && s.fills() {
				return fmt.Errorf("%v cannot follow %v: it would fill the %s that are not kept", s, mask, axis)
			}
		}
		if s.masks() {
			masked[s.Axis] = &p[i]
		}
		for _, axis := range axes {
			if !s.centres(axis) {
				continue
			}
			if centred[axis] {
				return errors.New("a view centres its " + axis + " once")
			}
			centred[axis] = true
		}
		if since != nil && since.Name == pearsonStep.name && s.Name == centerStep.name && s.Axis != "both" && len(centred) == 1 {
			continue
		}
		if since != nil && since.Name != centerStep.name && since.Name != pattersonStep.name && s.Name != multiplyStep.name {
			return fmt.Errorf("%v cannot follow %v, of which nothing but a multiple can be taken", s, since)
		}
		if s.fills() && since == nil {
			since = &p[i]
		}
	}
	return nil
}
