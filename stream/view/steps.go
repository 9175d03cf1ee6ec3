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
	List string // the name of a file, or the checksum of
	Mask *Mask  // the columns of a list; see Pipeline.Resolve
}

// kind is a step before it has parameters: all that is known of it.
type kind struct {
	name, usage string
	dense       string // why it cannot follow a step that makes zeros other numbers; "": it can

	parse func(*Step, *args) // nil: it has no parameters
	form  func(Step) string  // of them, canonical; nil: none
	masks bool               // it makes rows or columns empty
	fills func(Step) bool    // it makes zeros other numbers; nil: never, as below
	// cancels: what it makes of entries are differences, of which fewer digits are right.
	cancels func(Step) bool
	zeroes  func(Step) bool // entries may become 0

	value   func(*Step, float64) float64                       // what a value becomes by itself; nil: compile says more
	compile func(*compiler, Step)                              // adds its ops and stages; nil: value
	bounds  func(s Step, low, high float64) (float64, float64) // of what entries within bounds become; nil: by value
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

// unbounded are the bounds of what nothing is known of.
func unbounded() (low, high float64) { return math.Inf(-1), math.Inf(1) }

// asPositive are the bounds of what is not below 0 where entries are not.
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

// is tells whether a property that a kind may have holds for the step.
func (s Step) is(property func(Step) bool) bool { return property != nil && property(s) }
func (s Step) fills() bool                      { return s.is(s.kind().fills) }

// bounds are those of what the step makes of entries within bounds.
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

// centres tells whether the step takes off the means of the user's rows, or columns.
func (s Step) centres(axis string) bool {
	return s.Name == "center" && (s.Axis == axis || s.Axis == "both") || s.Name == "patterson" && axis == "columns"
}

// History is the beginning of the pipeline that says what an entry counts where rows are described by their
// entries: binary, or nothing.
func (p Pipeline) History() Pipeline {
	if len(p) > 0 && p[0].Name == binaryStep.name {
		return p[:1]
	}
	return nil
}

// Value is what the steps make of a value, as far as each of them is of single values.
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

// WeightsColumns tells whether a step weights the user's columns.
func (p Pipeline) WeightsColumns() bool {
	return slices.ContainsFunc(p, func(s Step) bool { return s.Name == weightStep.name && s.Axis == "columns" })
}

// Bias tells whether the pipeline is a bias and nothing else, of which sides beside the mean, and how damped.
func (p Pipeline) Bias() (rows, columns bool, damping float64, ok bool) {
	if len(p) != 1 || p[0].Name != biasStep.name {
		return false, false, 0, false
	}
	rows, columns = p[0].sides()
	return rows, columns, p[0].X, true
}

// sides tells which sides a step of an axis is of.
func (s Step) sides() (rows, columns bool) {
	both := s.Axis == "both"
	return both || s.Axis == "rows", both || s.Axis == "columns"
}

// Centred returns which of the user's columns and rows have the mean 0: "columns", if
// both, or "rows", or "".
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

// axes are those of the user's matrix.
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
