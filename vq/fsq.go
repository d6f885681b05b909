package vq

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// FSQ is finite scalar quantization: no codebook, every coordinate is bounded and
// rounded to one of a few values,
//
//	h = (L-1)(1+ε)/2,  b = tanh(y + atanh(o/h))·h - o,  q = round(b) / ⌊L/2⌋
//
// with o = 1/2 for an even number of values L and 0 otherwise; rounding passes
// gradients straight through. A latent is mapped to the grid's dimensions and
// back by learned affine maps where the two differ. The vocabulary is the
// product of the grid, not Codes (see [Config].Grid).
//
// Where latents have the grid's dimension, level l divides by (L-1)^l, the step of
// level l-1, as published for residual FSQ. Where they are projected, every level
// has its own projections, started on the principal components of its residuals.
var FSQ = Method{
	Name: "fsq", Title: "FSQ",
	Summary:  "finite scalar quantization: bounded coordinates rounded to a grid, no codebook",
	Defaults: implicitDefaults,
	Level:    func(c Config, dim int) Level { return newFSQ(c, dim) },
	Check:    checkFSQ,
	Chooses:  true,
	Implicit: true,
}

// implicitDefaults suit codes that are computed, not stored.
func implicitDefaults(c *Config, _ *Rates) {
	c.Start.From = "data"
	c.Start.Sample = 16384 // two moments are estimated, not codes
	c.Resets.Every = 0
}

// maxImplicit bounds implicit vocabularies: codes stay exact as float32.
const maxImplicit = 1 << 24

func checkFSQ(c Config, _ int) error {
	for _, values := range c.Grid {
		if values < 2 {
			return fmt.Errorf("quantizer.grid: %d values in a dimension are too few, use at least 2", values)
		}
	}
	size := 1
	for _, values := range fsqGrid(c) {
		if size *= values; size > maxImplicit {
			return fmt.Errorf("quantizer.grid: %v has more than %d points, use fewer values", c.Grid, maxImplicit)
		}
	}
	if c.Loss.Commitment > 0 {
		return fmt.Errorf("quantizer.loss.commitment: fsq's rounding needs no commitment, set it to 0")
	}
	return checkImplicit(c)
}

// checkImplicit refuses settings for stored codes.
func checkImplicit(c Config) error {
	switch {
	case c.Start.From == "kmeans" || c.Start.From == "rq":
		return fmt.Errorf("quantizer.start.from: %s has no stored codes to cluster, use data or random", c.Method)
	case c.Learn != "gradient":
		return fmt.Errorf("quantizer.learn: %s learns its projections by gradient only, not %s", c.Method, c.Learn)
	case c.Shared && c.Levels > 1:
		return fmt.Errorf("quantizer.shared: %s has no codebook to share between levels, set it to false", c.Method)
	case c.Loss.Codebook > 0 || c.Loss.Usage > 0:
		return fmt.Errorf("quantizer.loss: %s has no stored codes to pull, set codebook and usage to 0", c.Method)
	}
	return nil
}

func fsqGrid(c Config) radix {
	if len(c.Grid) > 0 {
		return c.Grid
	}
	return gridFor(c.Codes)
}

const (
	fsqEpsilon = 1e-3 // widens the bound so that the outermost values are reached
	fsqSpread  = 0.7  // deviation of Gaussian coordinates of least error, for 5 to 8 values
)

// FSQRounding is how [FSQ] rounds a coordinate y to one of Values values, for programs outside the graph: its digit is
// round(tanh(y + Shift)·Amplitude - Offset) + Half. Of equally near values the even one is taken.
type FSQRounding struct {
	Values                         int
	Half, Shift, Amplitude, Offset float64
}

// FSQGrid returns the rounding of every coordinate. The digits make a code, the first the fastest.
func FSQGrid(c Config) []FSQRounding {
	f := newFSQ(c, len(fsqGrid(c)))
	var grid []FSQRounding
	for i, values := range f.grid {
		grid = append(grid, FSQRounding{values, f.half[i], f.shift[i], f.amplitude[i], f.offset[i]})
	}
	return grid
}

type fsq struct {
	projection
	half, shift       []float64 // ⌊L/2⌋, atanh(o/h)
	amplitude, offset []float64 // h, o
}

func newFSQ(c Config, dim int) fsq {
	f := fsq{projection: newProjection(c, dim, fsqGrid(c))}
	for _, values := range f.grid {
		h, o := float64(values-1)*(1+fsqEpsilon)/2, 0.0
		if values%2 == 0 {
			o = 0.5
		}
		f.half, f.shift = append(f.half, float64(values/2)), append(f.shift, math.Atanh(o/h))
		f.amplitude, f.offset = append(f.amplitude, h), append(f.offset, o)
	}
	return f
}

func (f fsq) At(l int) Level {
	f.depth = l
	return f
}

func (f fsq) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	c := coder{spread: fsqSpread, round: f.round}
	c.value = func(i, digit int) float64 { return float64(digit)/f.half[i] - 1 }
	for i, values := range f.grid {
		c.center = append(c.center, -f.shift[i]) // the middle of an even number of values, too
		c.scale = append(c.scale, math.Pow(float64(values-1), -float64(f.depth)))
	}
	return f.start(rest, c, rng)
}

func (f fsq) round(y []float64) {
	for i := range y {
		y[i] = math.RoundToEven(math.Tanh(y[i]+f.shift[i])*f.amplitude[i]-f.offset[i]) / f.half[i]
	}
}

func (f fsq) Assign(ctx *Context, residual *Node) Assigned {
	y := f.into(ctx, residual)
	bounded := Sub(Mul(Tanh(Add(y, constantRow(y, f.shift))), constantRow(y, f.amplitude)), constantRow(y, f.offset))
	rounded := Round(StopGradient(bounded))
	half := constantRow(y, f.half)
	index := f.grid.code(Add(rounded, half))
	through := Div(straightThrough{}.Connect(ctx, bounded, rounded, nil), half)
	return f.assigned(ctx, index, through, Take(f.Usable(ctx), index), ScalarZero(y.Graph(), y.DType()))
}

func (f fsq) Usable(ctx *Context) *Node {
	anchor := f.anchor(ctx)
	half := constantRow(anchor, f.half)
	return f.back(ctx, Div(Sub(f.grid.table(anchor.Graph(), anchor.DType()), half), half))
}
