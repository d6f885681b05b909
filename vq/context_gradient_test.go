package vq

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/internal/phase"
)

// hostContext is the network of a later phase in plain loops, float64: the shift and the
// scale [2d] of a cell, from cells [side,side,d+1] that were sent.
func hostContext(in gradtest.Inputs, path string, side, dim int, sent []float64, y, x int) (shift, scale []float64) {
	width := in[path+"/conv0/bias"].Shape[0]
	gelu := func(x float64) float64 { return x * 0.5 * (1 + math.Erf(x/math.Sqrt2)) }
	first := func(y, x int) []float64 { // outside the picture, too
		out := append([]float64(nil), in[path+"/conv0/bias"].Data...)
		kernel := in[path+"/conv0/weights"].Data
		for i := range 9 {
			if yy, xx := y+i/3-1, x+i%3-1; yy >= 0 && xx >= 0 && yy < side && xx < side {
				for c, v := range sent[(yy*side+xx)*(dim+1) : (yy*side+xx+1)*(dim+1)] {
					for o := range out {
						out[o] += v * kernel[(i*(dim+1)+c)*width+o]
					}
				}
			}
		}
		for o := range out {
			out[o] = gelu(out[o])
		}
		return out
	}
	hidden := append([]float64(nil), in[path+"/conv1/bias"].Data...)
	for i := range 9 {
		for c, v := range first(y+i/3-1, x+i%3-1) {
			for o := range hidden {
				hidden[o] += v * in[path+"/conv1/weights"].Data[(i*width+c)*width+o]
			}
		}
	}
	both := append([]float64(nil), in[path+"/last/bias"].Data...)
	for c, v := range hidden {
		for o := range both {
			both[o] += gelu(v) * in[path+"/last/weights"].Data[c*2*dim+o]
		}
	}
	for _, t := range both[dim:] {
		scale = append(scale, math.Exp(0.5*math.Tanh(t)))
	}
	return both[:dim], scale
}

// Gradients of latents, codes and the network equal finite differences of the closed
// form: what is not differentiated (chosen codes, quantized latents of earlier phases,
// the surrogate's direction, stopped sides of losses) is held at its value.
func TestContextGradients(t *testing.T) {
	const dim, grids = 3, 2
	for _, phases := range []int{2, 4} {
		c := contextual(t, "grit", phases, 3, 1)
		c.Loss.Codebook, c.Loss.Commitment, c.Loss.Context = 0.5, 0.2, 0.3
		f := gridFixture(t, c, dim, grids)
		q, cells := f.q.(*Phased), c.Side*c.Side
		weight := random(newRand(5), grids*cells, dim)
		got := gradients(t, f, weight, 1)
		fixed, moved := f.inputs(), f.inputs()
		moved["z"] = gradtest.Value{Shape: f.z.Shape, Data: slices.Clone(f.z.Data)}
		out := gradtest.Eval[float64](t, fixed, func(in map[string]*graph.Node) []*graph.Node {
			out := q.Build(training(in), in["z"])
			return []*graph.Node{out.Index, out.Hard}
		})
		index, hard := out[0], out[1]

		// vectors returns shift, scale and scaled code of a row under other variables.
		books := func(in gradtest.Inputs) (all []matrix) {
			for p := range phases {
				all = append(all, linearCodes(in, phasePath(p)+"/level0"))
			}
			return all
		}
		vectors := func(in gradtest.Inputs, books []matrix, row int) (shift, scaled []float64) {
			g, y, x := row/cells, row%cells/c.Side, row%c.Side
			p := phase.Of(phases, y, x)
			shift, scale := make([]float64, dim), []float64{1, 1, 1}
			if p > 0 {
				sent := make([]float64, cells*(dim+1))
				for cell := range cells {
					if phase.Of(phases, cell/c.Side, cell%c.Side) < p {
						copy(sent[cell*(dim+1):], hard[(g*cells+cell)*dim:][:dim])
						sent[cell*(dim+1)+dim] = 1
					}
				}
				shift, scale = hostContext(in, contextPath(p), c.Side, dim, sent, y, x)
			}
			for j, v := range books[p].row(int(index[row])) {
				scaled = append(scaled, scale[j]*v)
			}
			return shift, scaled
		}
		before := books(fixed)
		value := func(in gradtest.Inputs) float64 {
			total, now := 0.0, books(in)
			for row := range grids * cells {
				later := phase.Of(phases, row%cells/c.Side, row%c.Side) > 0
				shift, scaled := vectors(in, now, row)
				shift0, scaled0 := vectors(fixed, before, row)
				direction, length, along := make([]float64, dim), 0.0, 0.0
				for j := range dim {
					z, z0 := in["z"].Data[row*dim+j], f.z.Data[row*dim+j]
					direction[j] = shift0[j] + scaled0[j] - z0
					length += direction[j] * direction[j]
					along += direction[j] * (shift[j] + scaled[j] - shift0[j] - scaled0[j] - (z - z0))
					square := func(x float64) float64 { return x * x / float64(grids*cells*dim) }
					total += c.Loss.Codebook*square(scaled[j]-(z0-shift0[j])) + c.Loss.Commitment*square(z-shift0[j]-scaled0[j])
					if later {
						total += c.Loss.Context * square(shift[j]+scaled[j]-z0)
					}
				}
				for j := range dim { // the Euclidean radius: k = 1
					z, z0 := in["z"].Data[row*dim+j], f.z.Data[row*dim+j]
					total += weight.Data[row*dim+j] * (z - z0 + direction[j]*along/length)
				}
			}
			return total
		}
		names := []string{"z"}
		for p := range phases {
			names = append(names, phasePath(p)+"/level0/codes", phasePath(p)+"/level0/mixer/a", phasePath(p)+"/level0/feature/w")
			if p > 0 {
				for _, name := range []string{"conv0/weights", "conv0/bias", "conv1/weights", "conv1/bias", "last/weights", "last/bias"} {
					names = append(names, contextPath(p)+"/"+name)
				}
			}
		}
		for _, name := range names {
			want := gradtest.FiniteDifference(moved, name, value)
			gradtest.Close(t, name, got[name], want, 1e-6)
		}
	}
}

// The loss of the start is the likelihood it says, and fits a mean and a spread that
// depend on the neighbours.
func TestContextLossIsTheLikelihood(t *testing.T) {
	const dim, grids = 2, 3
	c := contextual(t, "ste", 2, 3, 1)
	f := gridFixture(t, c, dim, grids)
	q, cells := f.q.(*Phased), c.Side*c.Side
	got := gradtest.Eval[float64](t, f.inputs(), func(in map[string]*graph.Node) []*graph.Node {
		ctx := training(in)
		return []*graph.Node{q.ContextLoss(ctx, in["z"]), q.Innovations(ctx, in["z"])}
	})
	in := f.inputs()
	squares, spread, logs, n := 0.0, make([]float64, dim), 0.0, 0.0
	innovations := append([]float64(nil), f.z.Data...)
	for row := range grids * cells {
		y, x := row%cells/c.Side, row%c.Side
		if phase.Of(2, y, x) == 0 {
			continue
		}
		sent := make([]float64, cells*(dim+1))
		for cell := range cells {
			if phase.Of(2, cell/c.Side, cell%c.Side) == 0 {
				copy(sent[cell*(dim+1):], f.z.Data[(row/cells*cells+cell)*dim:][:dim])
				sent[cell*(dim+1)+dim] = 1
			}
		}
		shift, scale := hostContext(in, contextPath(1), c.Side, dim, sent, y, x)
		n++
		for j := range dim {
			rest := f.z.Data[row*dim+j] - shift[j]
			squares += rest * rest
			spread[j] += rest * rest / (scale[j] * scale[j])
			logs += math.Log(scale[j])
			innovations[row*dim+j] = rest / scale[j]
		}
	}
	want := 0.5*math.Log(squares/(n*dim)) + logs/(n*dim)
	for _, s := range spread {
		want += 0.5 * math.Log(s/n) / dim
	}
	gradtest.Close(t, "loss", got[0], []float64{want}, 1e-6)
	gradtest.Close(t, "innovations", got[1], innovations, 1e-6)
}
