package vqtrain

import (
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// Bounds of the adaptive weight (Esser et al., 2021).
const (
	adaptiveEpsilon = 1e-4
	adaptiveMost    = 1e4
)

// judgement is what a discriminator adds to a step.
type judgement struct {
	loss    *Node   // the loss it was given, and the adversarial term
	assist  *Node   // the discriminator's own loss
	scalars []*Node // in the order of [AdversarialRecord.fill]
}

// adversarial adds the adversarial term to a loss of the reconstruction, see [judge].
func (t *Trainer) adversarial(v weights.Vars, pass tokenizer.Pass, restored *Node) judgement {
	own := v.In(discriminatorPrefix)
	weight := MulScalar(Reshape(own.Get(shareName)), t.config.Train.Adversarial.Weight)
	return judge(t.discriminator(), own, pass, restored, v.Get(t.model.LastLayer()), weight)
}

// judge adds the adversarial term to a loss of the reconstruction:
//
//	L = L_rec + λ w L_G,  L_G = -mean D(x̂),  w = min(|∂L_rec/∂V| / (|∂L_G/∂V| + 1e-4), 1e4)
//
// for the weights V of the decoder's last convolution and the configured weight λ times the share that the guard left of
// it. No gradient flows through w. The discriminator's own loss is
//
//	L_D = ½ mean max(0, 1 - D(x)) + ½ mean max(0, 1 + D(x̂)).
//
// Both gradients at x̂ are needed for w, so the loss continues from their sum, and the discriminator and the perceptual
// network are differentiated once. A term that is not finite is left out.
func judge(network nn.PatchDiscriminator, own weights.Vars, pass tokenizer.Pass, restored, last, weight *Node) judgement {
	drawn := Identity(StopGradient(pass.Output)) // a node of its own, which has a gradient
	ofDrawn, ofReal := network.Build(own, drawn), network.Build(own, pass.Target)

	generator := Neg(ReduceAllMean(ofDrawn))
	rising, falling := Gradient(generator, drawn)[0], Gradient(restored, pass.Output)[0] // [B, H, W, 3]
	size := func(adjoint *Node) *Node {
		through := ReduceAllSum(Mul(pass.Output, StopGradient(adjoint)))
		return Sqrt(ReduceAllSum(Square(Gradient(through, last)[0])))
	}
	adaptive := MinScalar(Div(size(falling), AddScalar(size(rising), adaptiveEpsilon)), adaptiveMost)
	weight = Mul(adaptive, weight)
	usable := And(IsFinite(ReduceAllSum(rising)), And(IsFinite(weight), IsFinite(generator)))
	left := func(x *Node) *Node { return Where(usable, x, ZerosLike(x)) }

	adjoint := StopGradient(Add(falling, left(Mul(rising, weight))))
	through := ReduceAllSum(Mul(pass.Output, adjoint))
	value := StopGradient(Add(restored, left(Mul(generator, weight))))
	hinge := hingeLoss(ofReal, ofDrawn)
	return judgement{
		loss:   Add(value, Sub(through, StopGradient(through))), // 0 with the gradient of both
		assist: hinge,
		scalars: []*Node{
			adaptive, generator, hinge, ReduceAllMean(ofReal), ReduceAllMean(ofDrawn), ConvertDType(usable, restored.DType()),
		},
	}
}

// hingeLoss is ½ mean max(0, 1 - D) over real pictures and ½ mean max(0, 1 + D) over drawn ones (Lim and Ye, 2017).
func hingeLoss(ofReal, ofDrawn *Node) *Node {
	real, drawn := ReduceAllMean(MaxScalar(OneMinus(ofReal), 0)), ReduceAllMean(MaxScalar(OnePlus(ofDrawn), 0))
	return MulScalar(Add(real, drawn), 0.5)
}
