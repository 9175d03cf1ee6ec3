package view

import (
	"errors"
	"fmt"
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

// kind is what is known of a step before it has parameters.
type kind struct {
	name, usage string
	parse       func(*Step, *args)
	form        func(Step) string // canonical form
	dense       string            // why it cannot follow a step that makes zeros other numbers; "": it can
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

// kinds are all steps. A new one is an entry here and a case of compiler.add.
var kinds = []kind{
	{"binary", "binary or binary>=T with T > 0", func(s *Step, a *args) {
		if len(a.fields) > 0 {
			f := a.fields[0]
			if len(f.text) < 2 || f.text[:2] != ">=" {
				a.fail(f, "unknown parameter")
				return
			}
			a.fields = a.fields[1:]
			s.Mode = ">="
			s.X = a.numberOf(field{f.text[2:], f.at + 2}.trimmed(), "T is a number above 0, since zeros stay zero", positive)
		}
	}, func(s Step) string {
		if s.Mode == "" {
			return ""
		}
		return ">=" + text(s.X)
	}, entrywise},
	{"clip", "clip=LO,HI with LO ≤ 0 ≤ HI", func(s *Step, a *args) {
		s.X = a.number("LO is a number not above 0, since zeros stay zero", func(x float64) bool { return x <= 0 })
		s.Y = a.number("HI is a number not below 0, since zeros stay zero", notNegative)
	}, func(s Step) string { return "=" + text(s.X) + "," + text(s.Y) }, entrywise},
	{"log1p", "log1p", nothing, plain, entrywise},
	{"sqrt", "sqrt", nothing, plain, entrywise},
	{"power", "power=P with P > 0", func(s *Step, a *args) {
		s.X = a.number("P is a number above 0, since zeros stay zero", positive)
	}, x, entrywise},
	{"multiply", "multiply=C", func(s *Step, a *args) { s.X = a.number("C is a number", nil) }, x, ""},
	{"confidence", "confidence=ALPHA", func(s *Step, a *args) { s.X = a.number("ALPHA is a number", nil) }, x, entrywise},
	{"normalize", "normalize=rows|columns[,l1|l2|max|total:T|total:median]", func(s *Step, a *args) {
		s.Axis = a.word("", "rows", "columns")
		if f, ok := a.option("total"); ok {
			s.Mode = "total"
			if f.text == "median" {
				s.Mode = "median"
			} else {
				s.X = a.numberOf(f, "T is a number above 0, or median", positive)
			}
			return
		}
		s.Mode = a.word("l2", "l1", "l2", "max")
	}, func(s Step) string {
		switch s.Mode {
		case "total":
			return "=" + s.Axis + ",total:" + text(s.X)
		case "median":
			return "=" + s.Axis + ",total:median"
		}
		return "=" + s.Axis + "," + s.Mode
	}, ofEntries},
	{"tfidf", "tfidf[=sublinear,smooth:yes|no,norm:l2|l1|none], tfidf=gensim or tfidf=implicit", func(s *Step, a *args) {
		s.Norm = "l2"
		if s.Mode = a.word("sklearn", "gensim", "implicit"); s.Mode != "sklearn" {
			return
		}
		s.Sublinear = a.word("counts", "sublinear") == "sublinear"
		for _, o := range []struct {
			key, other string
			words      []string
			set        func(string)
		}{
			{"smooth", "yes", []string{"yes", "no"}, func(w string) { s.Raw = w == "no" }},
			{"norm", "l2", []string{"l1", "l2", "none"}, func(w string) { s.Norm = w }},
		} {
			if f, ok := a.option(o.key); ok {
				b := &args{kind: a.kind, step: f, fields: []field{f}}
				o.set(b.word("", o.words...))
				if a.err == nil {
					a.err = b.err
				}
			}
		}
	}, func(s Step) string {
		if s.Mode != "sklearn" {
			return "=" + s.Mode
		}
		t := "=smooth:yes,norm:" + s.Norm
		if s.Raw {
			t = "=smooth:no,norm:" + s.Norm
		}
		if s.Sublinear {
			t = "=sublinear," + t[1:]
		}
		return t
	}, ofEntries},
	{"bm25", "bm25[=K1,B] with K1 ≥ 0 and B from 0 to 1", func(s *Step, a *args) {
		s.X, s.Y = 100, 0.8
		if len(a.fields) > 0 {
			s.X = a.number("K1 is a number not below 0", notNegative)
			s.Y = a.number("B is a number from 0 to 1", func(x float64) bool { return x >= 0 && x <= 1 })
		}
	}, func(s Step) string { return "=" + text(s.X) + "," + text(s.Y) }, ofEntries},
	{"ppmi", "ppmi[=SHIFT] with SHIFT ≥ 1", func(s *Step, a *args) {
		s.X = 1
		if len(a.fields) > 0 {
			s.X = a.number("SHIFT is a number not below 1", func(x float64) bool { return x >= 1 })
		}
	}, x, ofEntries},
	{"bias", "bias=global|rows|columns|both[,damping:D] with D ≥ 0", func(s *Step, a *args) {
		s.Axis = a.word("", "global", "rows", "columns", "both")
		if f, ok := a.option("damping"); ok {
			s.X = a.numberOf(f, "D is a number not below 0", notNegative)
		}
	}, func(s Step) string { return "=" + s.Axis + ",damping:" + text(s.X) }, ofEntries},
	{"center", "center=columns|rows|both", func(s *Step, a *args) { s.Axis = a.word("", "columns", "rows", "both") },
		func(s Step) string { return "=" + s.Axis }, ""},
	{"weight", "weight=rows|columns,count:P|sum:P|norm:P", func(s *Step, a *args) {
		s.Axis = a.word("", "rows", "columns")
		for _, mode := range []string{"count", "sum", "norm"} {
			if f, ok := a.option(mode); ok && s.Mode == "" {
				s.Mode, s.X = mode, a.numberOf(f, "P is a number", nil)
			}
		}
		if s.Mode == "" {
			a.fail(a.step, "what to weight by is missing")
		}
	}, func(s Step) string { return "=" + s.Axis + "," + s.Mode + ":" + text(s.X) }, ofEntries},
	{"scale", "scale=columns[,ddof:0|1]", func(s *Step, a *args) {
		s.Axis = a.word("", "columns")
		if f, ok := a.option("ddof"); ok {
			s.X = a.numberOf(f, "ddof is 0 or 1", func(x float64) bool { return x == 0 || x == 1 })
		}
	}, func(s Step) string { return "=" + s.Axis + ",ddof:" + text(s.X) }, ""},
	{"laplacian", "laplacian[=TAU] with TAU ≥ 0", func(s *Step, a *args) {
		if len(a.fields) > 0 {
			s.X = a.number("TAU is a number not below 0", notNegative)
		}
	}, x, ofEntries},
	{"keep", "keep=columns|rows,FILE or keep=columns|rows,hvg:N[,flavor:seurat|cell_ranger]", parseKeep, keepForm, ""},
	{"drop", "drop=columns|rows,count<N with N > 0", parseDrop, func(s Step) string { return "=" + s.Axis + ",count<" + text(s.X) }, ofEntries},
	{"correspondence", "correspondence", nothing, plain, ofEntries},
}

func nothing(*Step, *args) {}
func plain(Step) string    { return "" }
func x(s Step) string      { return "=" + text(s.X) }

// kind returns what is known of the step.
func (s Step) kind() kind {
	for _, k := range kinds {
		if k.name == s.Name {
			return k
		}
	}
	panic(fmt.Sprintf("view: there is no step %q", s.Name))
}

// String returns the step in its canonical form.
func (s Step) String() string { return s.Name + s.kind().form(s) }

// fills tells whether the step makes zeros other numbers.
func (s Step) fills() bool {
	return s.Name == "center" || s.Name == "correspondence" || s.Name == "laplacian" && s.X > 0
}

// Centred returns which of the user's columns and rows have the mean 0: "columns", if
// both, or "rows", or "".
func (p Pipeline) Centred() string {
	centred := map[string]bool{}
	for _, s := range p {
		switch {
		case s.Name == "center" && s.Axis == "both":
			centred["columns"], centred["rows"] = true, true
		case s.Name == "center":
			centred[s.Axis] = true
		case s.masks():
			centred[across(s.Axis)] = false
		}
	}
	for _, axis := range []string{"columns", "rows"} {
		if centred[axis] {
			return axis
		}
	}
	return ""
}

// cancels tells whether entries that the step makes are differences, of which fewer digits are right.
func (s Step) cancels() bool {
	return s.Name == "bias" || s.Name == "ppmi" || s.Name == "confidence" || s.Sublinear
}

// dense says why the step cannot follow one that makes zeros other numbers; "": it can.
func (s Step) dense() string {
	if s.hvg() {
		return ofEntries
	}
	return s.kind().dense
}

// check finds steps that cannot follow those before them.
func (p Pipeline) check() error {
	var since *Step
	masked := map[string]*Step{} // by axis
	centred := map[string]bool{}
	for i, s := range p {
		if why := s.dense(); since != nil && why != "" {
			return fmt.Errorf("%v cannot follow %v: "+why+"; put it before", s, since, since)
		}
		for axis, mask := range masked {
			if s.Name == "center" && s.Axis != axis || s.Name == "laplacian" && s.fills() {
				return fmt.Errorf("%v cannot follow %v: it would fill the %s that are not kept", s, mask, axis)
			}
		}
		if s.masks() {
			masked[s.Axis] = &p[i]
		}
		for _, axis := range []string{"rows", "columns"} {
			if s.Name != "center" || s.Axis != axis && s.Axis != "both" {
				continue
			}
			if centred[axis] {
				return errors.New("a view centres its " + axis + " once")
			}
			centred[axis] = true
		}
		if since != nil && since.Name != "center" && s.Name != "multiply" {
			return fmt.Errorf("%v cannot follow %v, of which nothing but a multiple can be taken", s, since)
		}
		if s.fills() && since == nil {
			since = &p[i]
		}
	}
	return nil
}
