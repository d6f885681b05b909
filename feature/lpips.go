package feature

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/weights"
)

// LPIPS is the learned perceptual distance of Zhang et al. (2018), version 0.1:
// a backbone trained on ImageNet, whose activations are compared under weights
// fitted to human judgement. As a [Network] it averages its last activations.
type LPIPS struct {
	backbone  backbone
	variables weights.Set
}

// SmallestPicture is the height and width below which the deepest activations
// vanish.
const SmallestPicture = 32

func newLPIPS(file *safetensors.File) (*LPIPS, error) {
	b, err := identifyBackbone(file)
	if err != nil {
		return nil, err
	}
	set, err := b.read(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", b.name, err)
	}
	heads := 0
	for _, s := range b.stages {
		if !s.compared {
			continue
		}
		head, err := readArray(file, fmt.Sprintf("lin%d.weight", heads), 1, s.out, 1, 1)
		if err != nil {
			return nil, fmt.Errorf("reading the LPIPS heads of %s: %w", b.name, err)
		}
		head.Shape = []int{s.out}
		set[fmt.Sprintf("head%d", heads)] = head
		heads++
	}
	return &LPIPS{backbone: b, variables: set}, nil
}

// Name is the backbone's.
func (l *LPIPS) Name() string { return l.backbone.name }

// Input leaves the size free.
func (l *LPIPS) Input() Input { return Input{} }

// Variables returns the weights of backbone and heads.
func (l *LPIPS) Variables() weights.Set { return l.variables }

// Activations returns the activations [B, h, w, channels] that LPIPS compares,
// shallow ones first, in the element type of the pictures x [B, H, W, 3], whose
// values are in [0, 1].
func (l *LPIPS) Activations(v weights.Vars, x *Node) []*Node {
	dims := x.Shape().Dimensions
	if len(dims) != 4 || dims[3] != 3 || dims[1] < SmallestPicture || dims[2] < SmallestPicture {
		panic(fmt.Errorf("feature: LPIPS compares pictures [batch, height, width, 3] of at least %d x %d, not %v",
			SmallestPicture, SmallestPicture, dims))
	}
	return l.backbone.activations(v, normalized(x,
		// The published scaling of 2x - 1: by channel (shift -0.030, -0.088,
		// -0.188; scale 0.458, 0.448, 0.450), written for x.
		[3]float64{(1 - 0.030) / 2, (1 - 0.088) / 2, (1 - 0.188) / 2}, [3]float64{0.458 / 2, 0.448 / 2, 0.450 / 2}))
}

// normalized returns (x - mean) / std by channel.
func normalized(x *Node, mean, std [3]float64) *Node {
	row := func(values [3]float64) *Node {
		return ConvertDType(Const(x.Graph(), [][][][]float64{{{values[:]}}}), x.DType())
	}
	var scale, offset [3]float64
	for c := range 3 {
		scale[c], offset[c] = 1/std[c], -mean[c]/std[c]
	}
	return Add(Mul(x, row(scale)), row(offset))
}

// Features averages the last activations over the picture: [B, D].
func (l *LPIPS) Features(v weights.Vars, x *Node) *Node {
	all := l.Activations(v, x)
	return ReduceMean(all[len(all)-1], 1, 2)
}

// Distance returns the perceptual distance [B] of pictures a and b, both
// [B, H, W, 3] with values in [0, 1]: 0 is identical, 1 is very different.
// It is computed in float32 from activations of the pictures' element type.
func (l *LPIPS) Distance(v weights.Vars, a, b *Node) *Node {
	var distances []*Node // of each layer
	others := l.Activations(v, b)
	for i, x := range l.Activations(v, a) {
		difference := Square(Sub(unitLength(x, publishedEpsilon), unitLength(others[i], publishedEpsilon)))
		head := frozen(v, fmt.Sprintf("head%d", i), difference)
		distances = append(distances, ReduceSum(Mul(ReduceMean(difference, 1, 2), Reshape(head, 1, -1)), 1))
	}
	return sum(distances)
}

func sum(terms []*Node) *Node {
	total := terms[0]
	for _, term := range terms[1:] {
		total = Add(total, term)
	}
	return total
}

// PerceptualL1 is a training loss: the mean absolute difference of the
// activations of a and b, both [B, H, W, 3] with values in [0, 1], averaged over
// layers. The activations are scaled to unit length across channels, so that no
// layer outweighs the others. The heads are not used, and only a, the
// reconstruction, gets a gradient. The result is a float32 scalar.
func (l *LPIPS) PerceptualL1(v weights.Vars, a, b *Node) *Node {
	others := l.Activations(v, StopGradient(b))
	var means []*Node // of each layer
	for i, x := range l.Activations(v, a) {
		target := StopGradient(unitLength(others[i], lossEpsilon))
		means = append(means, ReduceAllMean(Abs(Sub(unitLength(x, lossEpsilon), target))))
	}
	return DivScalar(sum(means), float64(len(means)))
}

// Epsilons added to the squared length of a pixel's activations. The published
// distance adds 1e-10 to the length; a loss needs more, because the gradient of
// weak activations grows with the inverse.
const (
	publishedEpsilon = 1e-20
	lossEpsilon      = 1e-6
)

// unitLength scales x [B, h, w, channels] to length 1 across channels, in
// float32 for narrower types.
func unitLength(x *Node, epsilon float64) *Node {
	if x.DType() != dtypes.Float64 {
		x = ConvertDType(x, dtypes.Float32)
	}
	return Div(x, Sqrt(AddScalar(ReduceAndKeep(Square(x), ReduceSum, -1), epsilon)))
}
