package vqtrain

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

const perceptualPrefix = "state/perceptual" // of the perceptual network's weights

// perceptualVariables are the frozen weights of the perceptual network, which
// stand beside the model's; nil without a perceptual loss.
func (t *Trainer) perceptualVariables() (weights.Set, error) {
	if t.config.Train.Perceptual == 0 {
		return nil, nil
	}
	if t.source.Perceptual == nil || !t.config.Model.Pictures() {
		return nil, fmt.Errorf("train.perceptual: %g needs pictures and a perceptual network; set it to 0 to train without", t.config.Train.Perceptual)
	}
	return weights.Set{}.Merge(perceptualPrefix, t.source.Perceptual.Variables()), nil
}

// perceptual is the mean absolute difference of features between the pictures
// and their reconstructions, or nil where none is asked for. The network runs in
// the precision of the model's convolutions.
func (t *Trainer) perceptual(v weights.Vars, pass tokenizer.Pass) *Node {
	if t.config.Train.Perceptual == 0 {
		return nil
	}
	fraction := func(x *Node) *Node { // from [-1, 1] to [0, 1]
		x = MulScalar(AddScalar(x, 1), 0.5)
		if t.config.Model.Image.Precision == "bf16" {
			x = nn.InPrecision(x, dtypes.BFloat16)
		}
		return x
	}
	loss := t.source.Perceptual.PerceptualL1(v.In(perceptualPrefix), fraction(pass.Output), fraction(pass.Target))
	return ConvertDType(loss, dtypes.Float32)
}
