package nn

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// convCase is a convolution of x [2, height, width, in].
type convCase struct {
	height, width, in, out, kernel int
	ConvOptions
}

func (c convCase) String() string {
	return fmt.Sprintf("%dx%d %d->%d kernel %d stride %d dilation %d padding %v groups %d",
		c.height, c.width, c.in, c.out, c.kernel, c.Stride, c.Dilation, c.Padding, c.Groups)
}

// convCases covers strides, dilations, kernels, paddings and groups, with sizes
// that strides divide and sizes that they do not.
func convCases() []convCase {
	var all []convCase
	for _, kernel := range []int{1, 3, 4} {
		for stride := 1; stride <= 3; stride++ {
			for dilation := 1; dilation <= 2; dilation++ {
				for _, padding := range [][2][2]int{{}, SamePadding(kernel, dilation), {{1, 0}, {0, 2}}, {{3, 4}, {5, 3}}} {
					for _, channels := range [][3]int{{3, 2, 1}, {4, 4, 4}, {4, 6, 2}} { // in, out, groups
						all = append(all, convCase{height: 9, width: 8, in: channels[0], out: channels[1], kernel: kernel,
							ConvOptions: ConvOptions{Stride: stride, Dilation: dilation, Padding: padding, Groups: channels[2]}})
					}
				}
			}
		}
	}
	for _, size := range [][2]int{{4, 4}, {7, 12}, {9, 5}} { // wide enough for tiles
		for _, padding := range [][2][2]int{{}, SamePadding(3, 1), {{2, 0}, {1, 2}}, {{3, 4}, {5, 3}}} {
			all = append(all, convCase{height: size[0] + 2, width: size[1] + 2, in: 16, out: 17, kernel: 3,
				ConvOptions: ConvOptions{Stride: 1, Dilation: 1, Padding: padding, Groups: 1}})
		}
	}
	for _, channels := range [][2]int{{4, 16}, {5, 17}} { // 4 x 4 of stride 2 as 3 x 3 on squares
		all = append(all, convCase{height: 8, width: 18, in: channels[0], out: channels[1], kernel: 4,
			ConvOptions: ConvOptions{Stride: 2, Dilation: 1, Padding: [2][2]int{{1, 1}, {1, 1}}, Groups: 1}})
	}
	return all
}

func gaussian(rng *rand.Rand, shape ...int) gradtest.Value {
	size := 1
	for _, dim := range shape {
		size *= dim
	}
	v := gradtest.Value{Shape: shape, Data: make([]float64, size)}
	for i := range v.Data {
		v.Data[i] = rng.NormFloat64()
	}
	return v
}

func (c convCase) inputs() gradtest.Inputs {
	rng := weights.Rand(1, c.String())
	_, height, width := c.loops(nil, nil, nil)
	return gradtest.Inputs{
		"x": gaussian(rng, 2, c.height, c.width, c.in),
		"k": gaussian(rng, c.kernel, c.kernel, c.in/c.Groups, c.out),
		"g": gaussian(rng, 2, height, width, c.out),
	}
}

// loops visits every product x[i] k[j] that is part of output o, and returns
// the size of the output.
func (c convCase) loops(x, k []float64, visit func(o, i, j int)) (products, height, width int) {
	reach := c.Dilation*(c.kernel-1) + 1
	height = (c.height+c.Padding[0][0]+c.Padding[0][1]-reach)/c.Stride + 1
	width = (c.width+c.Padding[1][0]+c.Padding[1][1]-reach)/c.Stride + 1
	if visit == nil {
		return 0, height, width
	}
	inGroup, outGroup := c.in/c.Groups, c.out/c.Groups
	for b := range 2 {
		for oy := range height {
			for ox := range width {
				for ky := range c.kernel {
					for kx := range c.kernel {
						y, x := oy*c.Stride+ky*c.Dilation-c.Padding[0][0], ox*c.Stride+kx*c.Dilation-c.Padding[1][0]
						if y < 0 || y >= c.height || x < 0 || x >= c.width {
							continue
						}
						for to := range c.out {
							for from := range inGroup {
								visit(((b*height+oy)*width+ox)*c.out+to,
									((b*c.height+y)*c.width+x)*c.in+to/outGroup*inGroup+from,
									((ky*c.kernel+kx)*inGroup+from)*c.out+to)
								products++
							}
						}
					}
				}
			}
		}
	}
	return products, height, width
}

// lowerings are the ways a case can be computed on the embedded engine: as it
// comes, by the engine's own convolution, and with the batch as layers.
var lowerings = []string{"default", "native", "layered"}

// run applies a convolution or its transpose to x [2, …] by the named lowering.
func (c convCase) run(lowering string, x *graph.Node, apply func(x *graph.Node, o ConvOptions) *graph.Node) *graph.Node {
	o := c.ConvOptions
	switch lowering {
	case "native":
		o.native = true
	case "layered":
		return within(x, func(x *graph.Node, l layout) *graph.Node {
			o.layers = l.layers
			return apply(x, o)
		})
	}
	return apply(x, o)
}

// All lowerings equal plain loops, in value and in both gradients.
func TestConvolveEqualsLoops(t *testing.T) {
	for _, c := range convCases() {
		in := c.inputs()
		x, k, g := in["x"].Data, in["k"].Data, in["g"].Data
		y, dx, dk := make([]float64, len(g)), make([]float64, len(x)), make([]float64, len(k))
		c.loops(x, k, func(o, i, j int) {
			y[o] += x[i] * k[j]
			dx[i] += g[o] * k[j]
			dk[j] += g[o] * x[i]
		})
		for _, lowering := range lowerings {
			if lowering == "layered" && c.Groups != 1 && c.Groups != c.in {
				continue // layers are for networks without groups
			}
			t.Run(fmt.Sprint(c, " ", lowering), func(t *testing.T) {
				got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
					y := c.run(lowering, nodes["x"], func(x *graph.Node, o ConvOptions) *graph.Node {
						return Convolve(x, nodes["k"], o)
					})
					loss := graph.ReduceAllSum(graph.Mul(y, nodes["g"]))
					return append([]*graph.Node{y}, graph.Gradient(loss, nodes["x"], nodes["k"])...)
				})
				gradtest.Close(t, "output", got[0], y, 1e-12)
				gradtest.Close(t, "gradient of x", got[1], dx, 1e-12)
				gradtest.Close(t, "gradient of kernel", got[2], dk, 1e-12)
			})
		}
	}
}

// A transposed convolution is the linear map's transpose, <conv(x), g> =
// <x, transposed(g)>, and its own gradients follow from the loops again.
func TestConvolveTransposedEqualsLoops(t *testing.T) {
	for _, c := range convCases() {
		in := c.inputs()
		x, k, y := in["x"].Data, in["k"].Data, in["g"].Data // here y is the input and x the adjoint
		want, dy, dk := make([]float64, len(x)), make([]float64, len(y)), make([]float64, len(k))
		c.loops(x, k, func(o, i, j int) {
			want[i] += y[o] * k[j]
			dy[o] += x[i] * k[j]
			dk[j] += x[i] * y[o]
		})
		for _, lowering := range lowerings {
			if lowering == "layered" && c.Groups != 1 && c.Groups != c.in {
				continue // layers are for networks without groups
			}
			t.Run(fmt.Sprint(c, " ", lowering), func(t *testing.T) {
				got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
					up := c.run(lowering, nodes["g"], func(y *graph.Node, o ConvOptions) *graph.Node {
						return ConvolveTransposed(y, nodes["k"], c.height, c.width, o)
					})
					loss := graph.ReduceAllSum(graph.Mul(up, nodes["x"]))
					return append([]*graph.Node{up}, graph.Gradient(loss, nodes["g"], nodes["k"])...)
				})
				gradtest.Close(t, "output", got[0], want, 1e-12)
				gradtest.Close(t, "gradient of y", got[1], dy, 1e-12)
				gradtest.Close(t, "gradient of kernel", got[2], dk, 1e-12)
			})
		}
	}
}

// Networks run in float32, at sizes that fill vectors and blocks.
func TestConvolveInFloat32(t *testing.T) {
	for _, stride := range []int{1, 2} {
		c := convCase{height: 17, width: 20, in: 16, out: 24, kernel: 3,
			ConvOptions: ConvOptions{Stride: stride, Dilation: 1, Padding: SamePadding(3, 1), Groups: 1}}
		in := c.inputs()
		x, k, g := in["x"].Data, in["k"].Data, in["g"].Data
		y, dx, dk := make([]float64, len(g)), make([]float64, len(x)), make([]float64, len(k))
		c.loops(x, k, func(o, i, j int) {
			y[o] += x[i] * k[j]
			dx[i] += g[o] * k[j]
			dk[j] += g[o] * x[i]
		})
		got := gradtest.Eval[float32](t, in, func(nodes map[string]*graph.Node) []*graph.Node {
			y := Convolve(nodes["x"], nodes["k"], c.ConvOptions)
			loss := graph.ReduceAllSum(graph.Mul(y, nodes["g"]))
			return append([]*graph.Node{y}, graph.Gradient(loss, nodes["x"], nodes["k"])...)
		})
		gradtest.Close(t, c.String(), got[0], y, 1e-5)
		gradtest.Close(t, c.String()+" gradient of x", got[1], dx, 1e-5)
		gradtest.Close(t, c.String()+" gradient of kernel", got[2], dk, 1e-5)
	}
}

func TestConvolveRefusesWhatDoesNotFit(t *testing.T) {
	for what, shapes := range map[string][2][]int{
		"channels": {{1, 4, 4, 3}, {3, 3, 2, 5}},
		"size":     {{1, 2, 4, 3}, {3, 3, 3, 5}},
		"rank":     {{4, 4, 3}, {3, 3, 3, 5}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: a kernel %v was applied to %v", what, shapes[1], shapes[0])
				}
			}()
			newConvolution(shapes[0], shapes[1], ConvOptions{})
		}()
	}
}

// The fast lowerings are chosen where they apply.
func TestLoweringIsChosenByGeometry(t *testing.T) {
	same := func(kernel int) [2][2]int { return SamePadding(kernel, 1) }
	for _, c := range []struct {
		in, out, kernel int
		o               ConvOptions
		want            convolver
	}{
		{32, 64, 3, ConvOptions{Padding: same(3)}, winogradConvolution{}},
		{32, 64, 3, ConvOptions{Padding: same(3), native: true}, nativeConvolution{}},
		{3, 64, 3, ConvOptions{Padding: same(3)}, patchConvolution{}},
		{32, 64, 3, ConvOptions{Padding: same(3), Stride: 2}, patchConvolution{}},
		{32, 64, 3, ConvOptions{Padding: SamePadding(3, 2), Dilation: 2}, patchConvolution{}},
		{32, 64, 1, ConvOptions{}, patchConvolution{}},
		{32, 64, 4, ConvOptions{Padding: [2][2]int{{1, 1}, {1, 1}}, Stride: 2}, subpixelConvolution{}},
		{32, 32, 3, ConvOptions{Padding: same(3), Groups: 32}, depthwiseConvolution{}},
		{32, 64, 3, ConvOptions{Padding: same(3), Groups: 2}, groupedConvolution{}},
	} {
		conv := newConvolution([]int{2, 16, 16, c.in}, []int{c.kernel, c.kernel, c.in / max(1, c.o.Groups), c.out}, c.o)
		if got := conv.lowering(true, dtypes.Float32); reflect.TypeOf(got) != reflect.TypeOf(c.want) {
			t.Errorf("%d->%d kernel %d %+v: %T instead of %T", c.in, c.out, c.kernel, c.o, got, c.want)
		}
		switch got := conv.lowering(true, dtypes.BFloat16).(type) {
		case winogradConvolution, subpixelConvolution:
			t.Errorf("%T in half precision", got)
		}
		if got := conv.lowering(false, dtypes.Float32); reflect.TypeOf(got) != reflect.TypeOf(nativeConvolution{}) {
			t.Errorf("a compiler gets %T", got)
		}
	}
}
