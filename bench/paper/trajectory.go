package main

import (
	"image/color"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
)

// The matrix of the picture has the eigenvalues λ₁ = 2, with its vector at 30°, and λ₂ = 0.8.
var (
	pictureValues = []float64{2, 0.8}
	pictureAngle  = math.Pi / 6
	pictureStarts = [][]float64{{1.9, -1.3}, {-0.5, 1.9}, {-0.12, 0.3}, {-1.9, 0.6}, {0.25, -0.25}, {1.2, 1.9}}
)

const pictureReach = 2.2 // largest coordinate on both axes

func pictureMatrix() *mat.Dense {
	c, s := math.Cos(pictureAngle), math.Sin(pictureAngle)
	q := mat.NewDense(2, 2, []float64{c, -s, s, c})
	var m mat.Dense
	m.Product(q, mat.NewDiagDense(2, pictureValues), q.T())
	return &m
}

// iterates returns the iterates x₀, x₁, … of a method of the solver that starts at x₀.
func iterates(of method.Method, m *mat.Dense, x0 []float64, steps int) (plotter.XYs, error) {
	// The methods start from x₀ = Mz.
	z, y := mat.NewDense(2, 1, nil), mat.NewDense(2, 1, nil)
	if err := z.Solve(m, mat.NewDense(2, 1, x0)); err != nil {
		return nil, err
	}
	rec := of.New(method.Run{Rank: 1, Paper: true})
	rec.Start(z)
	var xys plotter.XYs
	for t := range steps + 1 {
		x := rec.Next()
		if t > 0 {
			xys = append(xys, plotter.XY{X: x.At(0, 0), Y: x.At(1, 0)})
		}
		y.Mul(m, x)
		rec.Absorb(y)
	}
	return xys, nil
}

// landscape is g(x) = ¼‖M − xxᵀ‖²_F on a grid.
type landscape struct {
	m    *mat.Dense
	side int
}

func (l landscape) Dims() (c, r int) { return l.side, l.side }
func (l landscape) X(c int) float64  { return pictureReach * (2*float64(c)/float64(l.side-1) - 1) }
func (l landscape) Y(r int) float64  { return l.X(r) }

func (l landscape) Z(c, r int) float64 {
	x := mat.NewVecDense(2, []float64{l.X(c), l.Y(r)})
	var d mat.Dense
	d.Outer(-1, x, x)
	d.Add(&d, l.m)
	return mat.Norm(&d, 2) * mat.Norm(&d, 2) / 4
}

// levels is a palette from dark (low) to light (high).
type levels int

func (n levels) Colors() []color.Color {
	all := make([]color.Color, n)
	for i := range all {
		all[i] = color.Gray{uint8(110 + 110*i/int(n-1))}
	}
	return all
}

func trajectory() (*plot.Plot, error) {
	m := pictureMatrix()
	p := newPlot("Gradient descent (η = ½) on g(x) = ¼‖M − xxᵀ‖²", "x₁", "x₂")
	least := pictureValues[1] * pictureValues[1] / 4 // g at the minima
	var heights []float64
	for i := range 14 {
		heights = append(heights, least+0.02*math.Pow(1.75, float64(i)))
	}
	contour := plotter.NewContour(landscape{m, 121}, heights, levels(len(heights)))
	contour.LineStyles = []draw.LineStyle{{Width: vg.Points(0.8)}}
	p.Add(contour)
	colors := []color.RGBA{vermil, blue, green, orange, purple, skyBlue}
	marks := []draw.GlyphDrawer{circle, square4, triangle, ring, cross, frame}
	for i, x0 := range pictureStarts {
		xys, err := iterates(gd.Descent{}, m, x0, 60)
		if err != nil {
			return nil, err
		}
		line, at, err := plotter.NewLinePoints(xys)
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: colors[i], Width: vg.Points(1.6)}
		at.GlyphStyle = draw.GlyphStyle{Color: colors[i], Radius: vg.Points(3), Shape: marks[i]}
		p.Add(line, at)
	}
	if err := addStationary(p); err != nil {
		return nil, err
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -pictureReach, pictureReach, -pictureReach, pictureReach
	return p, nil
}

// addStationary labels the points where the gradient is zero: the minima ±√λ₁u₁, the saddles ±√λ₂u₂, and 0.
func addStationary(p *plot.Plot) error {
	c, s := math.Cos(pictureAngle), math.Sin(pictureAngle)
	a, b := math.Sqrt(pictureValues[0]), math.Sqrt(pictureValues[1])
	xys := plotter.XYs{{X: a * c, Y: a * s}, {X: -a * c, Y: -a * s}, {X: -b * s, Y: b * c}, {X: b * s, Y: -b * c}, {}}
	at, err := plotter.NewScatter(xys)
	if err != nil {
		return err
	}
	at.GlyphStyle = draw.GlyphStyle{Color: black, Radius: vg.Points(4.5), Shape: plus}
	p.Add(at)
	for i, text := range []string{"minimum √λ₁u₁", "minimum −√λ₁u₁", "saddle", "saddle", "0"} {
		name, err := plotter.NewLabels(plotter.XYLabels{XYs: xys[i : i+1], Labels: []string{text}})
		if err != nil {
			return err
		}
		name.Offset = vg.Point{X: vg.Points(8), Y: vg.Points(-12)}
		if i < 2 { // away from the innermost contours, the paths and the edge
			name.Offset = vg.Point{X: vg.Points([]float64{-8, 4}[i]), Y: vg.Points(34)}
		}
		name.TextStyle[0].Font = p.Legend.TextStyle.Font
		name.TextStyle[0].Font.Size = 12
		p.Add(name)
	}
	return nil
}
