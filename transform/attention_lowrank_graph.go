package transform

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/nn"

	"github.com/gritvq/gritvq/weights"
)

func (m prototypeMixer) graph(c Config, v weights.Vars, codes *Node) *Node {
	return m.blend(c, v, codes, codes, v.Get("mixer/a"))
}

func (m prototypeMixer) graphRows(c Config, v weights.Vars, codes, at *Node) *Node {
	return m.blend(c, v, codes, Gather(codes, at), Gather(v.Get("mixer/a"), at))
}

// blend returns δ own + (1-δ) softmax(a/τ) (Qᵀ E) for rows own [N,d], a [N,r].
func (prototypeMixer) blend(c Config, v weights.Vars, codes, own, a *Node) *Node {
	shares := Softmax(DivScalar(v.Get("mixer/b"), c.Temperature))
	prototypes := nn.Product(shares, codes)
	delta := InsertAxes(Sigmoid(v.Get("mixer/bias")), 0)
	lean := Softmax(DivScalar(a, c.Temperature))
	return Add(Mul(own, delta), nn.Product(lean, Mul(prototypes, OneMinus(delta))))
}

// graphEntropy is H(δ) + (1-δ) mean H(P_i): the entropy of the weights
// [δ, (1-δ) P_i]. With logit b, -ln δ = softplus(-b) and -ln(1-δ) = softplus(b).
func (prototypeMixer) graphEntropy(c Config, v weights.Vars) *Node {
	bias := Reshape(v.Get("mixer/bias"))
	delta := Sigmoid(bias)
	choice := Add(Mul(delta, Softplus(Neg(bias))), Mul(OneMinus(delta), Softplus(bias)))
	return Add(choice, Mul(OneMinus(delta), meanEntropy(DivScalar(v.Get("mixer/a"), c.Temperature))))
}
