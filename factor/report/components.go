package report

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// vectors holds U or V with the names of its rows.
type vectors struct {
	one, many string
	recommend.Vectors
	names  *factor.Names
	labels *labels // nil: no labels
	topics []recommend.Topic
	view   *extent // nil: fewer than two components
}

// openVectors opens the vectors of a side, nil if the result has none. Only the first components are read, two at least.
func openVectors(ctx context.Context, r *factor.Result, rows bool, components int) (*vectors, error) {
	v := &vectors{one: "column", many: "columns"}
	v.N, v.Read = r.Cols, r.ReadV
	file, open := "V.npy", r.ColNames
	if rows {
		v.one, v.many, v.N, v.Read = "row", "rows", r.Rows, r.ReadU
		file, open = "U.npy", r.RowNames
	}
	v.Sigma = r.Values()
	v.Sigma = v.Sigma[:min(len(v.Sigma), max(components, 2))]
	v.Errors = r.Errors(v.N, v.Sigma)
	if !slices.ContainsFunc(r.Files, func(f factor.File) bool { return f.Name == file }) || v.N == 0 || len(v.Sigma) == 0 {
		return nil, nil
	}
	var err error
	v.names, err = open(ctx)
	return v, err
}

// find reads the vectors once, for the strongest rows of each component and for the extent of the first two components.
func (v *vectors) find(ctx context.Context, o Options) (err error) {
	if len(v.Sigma) >= 2 {
		v.view = new(extent)
	}
	watched := v.Vectors
	watched.Read = func(first int64, rows *mat.Dense) error {
		err := v.Read(first, rows)
		if v.view != nil && err == nil {
			n, _ := rows.Dims()
			for i := range n {
				row := rows.RawRowView(i)
				v.view.add(row[0]*v.Sigma[0], row[1]*v.Sigma[1])
			}
		}
		return err
	}
	v.topics, err = recommend.Topics(ctx, watched, int(min(int64(o.Top), v.N)), o.Memory, o.Progress)
	if err != nil {
		return fmt.Errorf("vectors of the %s: %w", v.many, err)
	}
	if len(v.topics) > o.Components {
		v.topics = v.topics[:o.Components]
	}
	return nil
}

func (p *page) items(v *vectors, sign string, items []recommend.Item) error {
	p.f("<div><p>%s %s</p><ol>", sign, v.many)
	for _, item := range items {
		name, err := v.names.At(int64(item.Index))
		if err != nil {
			return err
		}
		p.f("<li><span>%s</span> <span class=\"dim score\">%s</span></li>", nameOf(name), minus(fmt.Sprintf("%.3f", item.Score)))
	}
	p.WriteString("</ol></div>\n")
	return nil
}

func (p *page) topics(r *factor.Result, sides []*vectors, names []string) error {
	n := 0
	for _, v := range sides {
		n = max(n, len(v.topics))
	}
	if n == 0 {
		return nil
	}
	p.section("Strongest in the components", "Rows and columns of the same sign belong together; exchanging the two signs of a component changes nothing. Numbers are entries of the vectors.")
	p.WriteString("<div class=\"topics\">\n")
	values := r.Values()
	for j := range n {
		if values[j] == 0 {
			continue // its vectors are arbitrary: they only complete the others
		}
		name := ""
		if j < len(names) && names[j] != "" {
			name = ": " + cut(names[j], nameLength)
		}
		p.f("<div class=\"topic\"><h3>Component %d%s <span class=\"dim\">%s = %s</span></h3><div class=\"signs\">\n", j+1, name, valueName(r), tickText(values[j]))
		for _, v := range sides {
			if j >= len(v.topics) {
				continue
			}
			for _, sign := range []struct {
				word  string
				items []recommend.Item
			}{{"+", v.topics[j].Positive}, {"−", v.topics[j].Negative}} {
				if len(sign.items) > 0 {
					if err := p.items(v, sign.word, sign.items); err != nil {
						return err
					}
				}
			}
		}
		p.WriteString("</div></div>\n")
	}
	p.WriteString("</div>\n")
	p.end()
	return nil
}

// scatters draws rows and columns by their first two components.
func (p *page) scatters(ctx context.Context, r *factor.Result, sides []*vectors, o Options) error {
	drawn := slices.DeleteFunc(slices.Clone(sides), func(v *vectors) bool { return v.view == nil })
	if len(drawn) == 0 {
		return nil
	}
	name := valueName(r)
	p.section("The first two components", fmt.Sprintf("Density of the rows and columns by their entries in the first two vectors, times %s₁ and %s₂; a stronger colour means more in a cell.", name, name))
	p.WriteString("<div class=\"pair\">\n")
	for _, v := range drawn {
		g, err := v.grid(ctx, o)
		if err != nil {
			return err
		}
		p.density(v, g, name)
	}
	p.WriteString("</div>\n")
	p.end()
	return nil
}

// Number of cells of a density, and of shades of a colour.
const (
	gridWidth  = 80
	gridHeight = 52
	shades     = 5
)

type grid struct {
	x, y    axis
	counts  []int64 // number of rows in each cell
	of      []int64 // number of rows of each label in each cell; nil without labels
	labels  int
	outside int64
}

const windowRows = 1 << 13

func (v *vectors) grid(ctx context.Context, o Options) (*grid, error) {
	g := &grid{counts: make([]int64, gridWidth*gridHeight)}
	g.x, g.y = v.view.axes()
	g.x.from, g.x.to, g.y.from, g.y.to = 0, gridWidth, gridHeight, 0
	if v.labels != nil {
		g.labels = len(v.labels.names)
		g.of = make([]int64, gridWidth*gridHeight*g.labels)
	}
	window := npy.Window{N: v.N, Most: windowRows, K: 2, Read: v.Read}
	return g, window.Each(ctx, func(first int64, rows *mat.Dense) error {
		for i := range rows.RawMatrix().Rows {
			row := rows.RawRowView(i)
			x, y := row[0]*v.Sigma[0], row[1]*v.Sigma[1]
			if x < g.x.lo || x > g.x.hi || y < g.y.lo || y > g.y.hi {
				g.outside++
			}
			cell := min(int(g.y.at(y)), gridHeight-1)*gridWidth + min(int(g.x.at(x)), gridWidth-1)
			g.counts[cell]++
			if g.of != nil {
				g.of[cell*g.labels+v.labels.colour(first+int64(i))]++
			}
		}
		o.Progress(min(first+windowRows, v.N), v.N)
		return nil
	})
}

// density draws a grid: a path for each shade of each colour.
func (p *page) density(v *vectors, g *grid, name string) {
	most := max(1, slices.Max(g.counts))
	x, y := g.x, g.y
	x.title, y.title = "component 1", "component 2"
	c := newChart(fmt.Sprintf("Density of the %s in the first two components", v.many), x, y)
	width, height := (c.x.to-c.x.from)/gridWidth, (c.y.from-c.y.to)/gridHeight
	kinds := max(g.labels, 1)
	paths := make([]page, kinds*shades)
	kind := func(cell int) int {
		n := g.counts[cell]
		if n == 0 {
			return -1
		}
		shade := shades - 1
		if most > 1 {
			shade = int(math.Log(float64(n)) / math.Log(float64(most)) * (shades - 0.01))
		}
		label := 0
		for l := range g.labels {
			if g.of[cell*g.labels+l] > g.of[cell*g.labels+label] {
				label = l
			}
		}
		return label*shades + shade
	}
	for i := range gridHeight {
		for j := 0; j < gridWidth; {
			k, from := kind(i*gridWidth+j), j
			for ; j < gridWidth && kind(i*gridWidth+j) == k; j++ {
			}
			if k >= 0 {
				fmt.Fprintf(&paths[k], "M%d %dh%dv1h-%dz", from, i, j-from, j-from)
			}
		}
	}
	c.svg.f(`<g transform="translate(%s %s) scale(%.3f %.3f)">`, place(c.x.from), place(c.y.to), width, height)
	for k := range paths {
		if paths[k].Len() > 0 {
			colour := k / shades
			if v.labels != nil {
				colour = v.labels.colours[colour]
			}
			c.svg.f(`<path style="fill:var(--c%x)" fill-opacity="%s" d="%s"/>`, colour, [shades]string{".4", ".55", ".7", ".85", "1"}[k%shades], paths[k].String())
		}
	}
	c.svg.WriteString("</g>")
	caption := markedUp("%s %s by %s₁ and %s₂; at most %s in a cell", count(v.N), v.many, name, name, count(most))
	if g.outside > 0 {
		caption += markedUp("; outside and drawn at the edge: %s", count(g.outside))
	}
	if v.labels != nil {
		caption += markedUp(". Colours by the label that is most frequent in a cell: %s", v.labels.key())
	}
	p.figure(c, caption)
}

// extent holds the range of points and a sample of them: each stride-th point.
type extent struct {
	x, y      []float64
	n, stride int
	lo, hi    [2]float64
}

// mostSamples is the largest number of points that an extent keeps.
const mostSamples = 1 << 13

func (e *extent) add(x, y float64) {
	if e.n == 0 {
		e.stride, e.lo, e.hi = 1, [2]float64{x, y}, [2]float64{x, y}
	}
	for i, v := range [2]float64{x, y} {
		e.lo[i], e.hi[i] = min(e.lo[i], v), max(e.hi[i], v)
	}
	if e.n%e.stride == 0 {
		e.x, e.y = append(e.x, x), append(e.y, y)
	}
	e.n++
	if len(e.x) > mostSamples {
		for i := 0; 2*i < len(e.x); i++ {
			e.x[i], e.y[i] = e.x[2*i], e.y[2*i]
		}
		e.x, e.y = e.x[:(len(e.x)+1)/2], e.y[:(len(e.y)+1)/2]
		e.stride *= 2
	}
}

// axes returns axes for all points. If a few points are far away, the axes span 99 % of the sample, and half as much on each
// side.
func (e *extent) axes() (x, y axis) {
	of := func(i int, sample []float64) axis {
		lo, hi := e.lo[i], e.hi[i]
		s := slices.Sorted(slices.Values(sample))
		if from, to := s[len(s)/200], s[len(s)-1-len(s)/200]; to > from {
			lo, hi = max(lo, from-(to-from)/2), min(hi, to+(to-from)/2)
		}
		a := linear("", lo, hi)
		spare := (a.hi - a.lo) / 40
		a.lo, a.hi = a.lo-spare, a.hi+spare
		return a
	}
	return of(0, e.x), of(1, e.y)
}
