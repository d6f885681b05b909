package nn

import (
	"cmp"
	"fmt"
	"math/bits"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// PatchDiscriminator says of every patch of a picture how real it looks (PatchGAN: Isola et al., 2017): convolutions of
// 4 x 4 taps, the first Layers with stride 2, leaky ReLUs between them.
//
// GroupNorm takes the place of the original's batch normalization, whose statistics would tie a picture's judgement to
// the rest of its batch: a batch divided into parts would train another network, and real and drawn pictures, which are
// judged apart, would each be normalized by their own kind.
type PatchDiscriminator struct {
	Channels int // of the picture; 0 is 3
	Width    int // channels of the first convolution; every later one has twice as many, at most 8 times
	Layers   int // with stride 2; a patch has 16, 34 or 70 pixels for 1, 2 or 3
	Groups   int // of the GroupNorms; 0 is 8

	DType dtypes.DType // precision of the activations, as in ImageEncoder
}

// PatchLayers is the number of strided layers whose patches are about half as wide as pictures of a size, at most 3.
func PatchLayers(size int) int { return min(3, max(1, bits.Len(uint(size/16))-1)) }

const (
	patchKernel = 4
	leakyRise   = 0.2 // of negative values
)

// convs lists the convolutions; the last makes the judgement.
func (d PatchDiscriminator) convs() (list []Conv) {
	gain, in := 1.0, cmp.Or(d.Channels, 3)
	for i := range d.Layers + 1 {
		c := Conv{In: in, Out: d.Width << min(i, 3), Kernel: patchKernel, Stride: 2, Gain: gain}
		if i == d.Layers {
			c.Stride = 1
		}
		list = append(list, c)
		gain, in = 2/(1+leakyRise*leakyRise), c.Out
	}
	return append(list, Conv{In: in, Out: 1, Kernel: patchKernel, Gain: gain})
}

// norm follows convolution i; the first and the last have none.
func (d PatchDiscriminator) norm(c Conv) GroupNorm {
	return GroupNorm{Channels: c.Out, Groups: cmp.Or(d.Groups, 8)}
}

// Init returns the variables "conv<i>" and, of all but the first and the last convolution, "norm<i>".
func (d PatchDiscriminator) Init(rng *rand.Rand) weights.Set {
	set, list := weights.Set{}, d.convs()
	for i, c := range list {
		set.Merge(fmt.Sprintf("conv%d", i), c.Init(rng))
		if i > 0 && i < len(list)-1 {
			set.Merge(fmt.Sprintf("norm%d", i), d.norm(c).Init())
		}
	}
	return set
}

// Build maps pictures x [B, H, W, Channels] to judgements [B, h, w, 1] with the data type of x: large ones of patches that look
// real. h is H / 2^Layers, rounded up.
func (d PatchDiscriminator) Build(v weights.Vars, x *graph.Node) *graph.Node {
	h := InPrecision(x, d.DType)
	l := layoutFor(h)
	h = l.enter(h)
	list := d.convs()
	for i, c := range list {
		h = c.build(v.In("conv%d", i), h, l)
		if i == len(list)-1 {
			break
		}
		if i > 0 {
			h = d.norm(c).build(v.In("norm%d", i), h, l)
		}
		h = graph.Max(h, graph.MulScalar(h, leakyRise))
	}
	return graph.ConvertDType(l.leave(h), x.DType())
}
