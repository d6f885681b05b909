package feature

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// activations returns the activations LPIPS compares for x [B, H, W, 3], each
// [B, h, w, channels] in the element type of x.
func (b backbone) activations(v weights.Vars, x *Node) []*Node {
	var compared []*Node
	for _, s := range b.stages {
		part := v.In("stage%d", s.index)
		switch s.kind {
		case convStage:
			x = relu(convolve(part, x, nn.ConvOptions{Stride: s.stride, Padding: around(s.padding)}))
		case fireStage:
			squeezed := relu(convolve(part.In("squeeze"), x, nn.ConvOptions{}))
			x = Concatenate([]*Node{
				relu(convolve(part.In("expand1x1"), squeezed, nn.ConvOptions{})),
				relu(convolve(part.In("expand3x3"), squeezed, nn.ConvOptions{Padding: around(1)})),
			}, -1)
		case poolStage, ceilPoolStage:
			x = nn.MaxPool(x, s.size, s.stride, s.kind == ceilPoolStage)
		}
		if s.compared {
			compared = append(compared, x)
		}
	}
	return compared
}

// convolve applies the "kernel" and "bias" of a frozen convolution in the
// element type of x.
func convolve(v weights.Vars, x *Node, o nn.ConvOptions) *Node {
	return Add(nn.Convolve(x, frozen(v, "kernel", x), o), Reshape(frozen(v, "bias", x), 1, 1, 1, -1))
}

// frozen returns a variable that no gradient reaches.
func frozen(v weights.Vars, name string, like *Node) *Node {
	return ConvertDType(StopGradient(v.Get(name)), like.DType())
}

func around(pixels int) [2][2]int { return [2][2]int{{pixels, pixels}, {pixels, pixels}} }

func relu(x *Node) *Node { return MaxScalar(x, 0) }
