package feature

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"
)

// Features maps pictures x [B, 224, 224, 3] with values in [0, 1] to the pooled
// features [B, 1280]. Other sizes are computed too, but the network has not
// seen them.
func (m *MobileNet) Features(v weights.Vars, x *Node) *Node {
	x = normalized(x, [3]float64{0.5, 0.5, 0.5}, [3]float64{0.5, 0.5, 0.5}) // to [-1, 1]
	x = relu6(sameConvolve(v.In("stem"), x, 3, 2, 1))
	for i, b := range m.blocks {
		part, y := v.In("block%d", i), x
		if b.expands {
			y = relu6(convolve(part.In("expand"), y, nn.ConvOptions{}))
		}
		y = relu6(sameConvolve(part.In("depthwise"), y, 3, b.stride, b.wide))
		y = convolve(part.In("project"), y, nn.ConvOptions{})
		if b.stride == 1 && b.in == b.out {
			y = Add(x, y)
		}
		x = y
	}
	return ReduceMean(relu6(convolve(v.In("head"), x, nn.ConvOptions{})), 1, 2)
}

// sameConvolve pads as TensorFlow does: to ⌈size/stride⌉, an odd pixel at the
// end.
func sameConvolve(v weights.Vars, x *Node, size, stride, groups int) *Node {
	var padding [2][2]int
	for axis := range padding {
		in := x.Shape().Dim(axis + 1)
		total := max(0, (in+stride-1)/stride*stride-stride+size-in)
		padding[axis] = [2]int{total / 2, total - total/2}
	}
	return convolve(v, x, nn.ConvOptions{Stride: stride, Padding: padding, Groups: groups})
}

func relu6(x *Node) *Node { return MinScalar(MaxScalar(x, 0), 6) }
