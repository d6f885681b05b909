package transform

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/ml/layers/activation"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// ContextReach is how many cells away a cell may be to influence a shift and a scale.
const ContextReach = 2

// ScaleRange bounds the scale of a context: exp(±ScaleRange).
const ScaleRange = 0.5

// Context is the network of the context transform: it reads the quantized latents of the cells that
// were sent already and says how the codes of a cell that follows are used, as shift + scale * C'.
// Shift and scale depend on sent codes alone, so the decoder knows them too. (The paper's codebook is
// the same for all samples; that rule is relaxed here on purpose.)
//
// The network is two 3x3 convolutions d+1 -> Width -> Width with GELU and a linear map to [mu, t], d
// numbers each, that starts at zero; the shift is mu and the scale exp(tanh(t)/2).
type Context struct {
	Dim   int // d of the latents
	Width int // channels between the convolutions
}

// Init returns "conv0/weights" [3,3,d+1,Width], "conv1/weights" [3,3,Width,Width], "last/weights"
// [Width,2d] and their biases.
func (c Context) Init(rng *rand.Rand) weights.Set {
	set := weights.Set{}
	set.Merge("conv0", nn.Conv{In: c.Dim + 1, Out: c.Width, Kernel: 3, Gain: 2}.Init(rng))
	set.Merge("conv1", nn.Conv{In: c.Width, Out: c.Width, Kernel: 3, Gain: 2}.Init(rng))
	set["last/weights"], set["last/bias"] = weights.New(c.Width, 2*c.Dim), weights.New(2*c.Dim)
	return set
}

// Features maps cells [B, h+2r, w+2r, d+1], r = [ContextReach], to [B*h*w, Width]. A cell holds its
// quantized latent and 1, or zeros where nothing was sent yet and outside the picture. No padding is
// added, so the features of a cell do not depend on how a picture is cut.
func (c Context) Features(v weights.Vars, cells *Node) *Node {
	x := cells
	for i := range 2 {
		layer := v.In("conv%d", i)
		x = nn.Convolve(x, layer.Get("weights"), nn.ConvOptions{})
		x = activation.Gelu(Add(x, Reshape(layer.Get("bias"), 1, 1, 1, c.Width)))
	}
	return Reshape(x, -1, c.Width)
}

// Affine maps features [N,Width] to the shift and the scale [N,d] of codes.
func (c Context) Affine(v weights.Vars, features *Node) (shift, scale *Node) {
	out := Add(nn.Product(features, v.Get("last/weights")), ExpandAxes(v.Get("last/bias"), 0))
	shift = Slice(out, AxisRange(), AxisRange(0, c.Dim))
	return shift, Exp(MulScalar(Tanh(Slice(out, AxisRange(), AxisRange(c.Dim, 2*c.Dim))), ScaleRange))
}

// checkContext reports settings of the context that cannot work.
func (c Config) checkContext() error {
	switch {
	case c.Context != 0 && c.Context != 2 && c.Context != 4:
		return fmt.Errorf("context is %d: use 2 or 4 phases, or 0 for none", c.Context)
	case c.ContextWidth < 0 || c.ContextWidth > math.MaxInt16:
		return fmt.Errorf("context_width is %d: use a number of channels such as 128, or 0 for phases without a network", c.ContextWidth)
	case c.Context > 0 && c.RowNorm == RowNormLatent:
		return fmt.Errorf("context is %d: codes on the unit sphere cannot be shifted; use row_norm none or gain", c.Context)
	}
	return nil
}
