package transform

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/nn"

	"github.com/gritvq/gritvq/weights"
)

// graph multiplies by M [K,K]; the gradient of M is another [K,K].
func (fullMixer) graph(_ Config, v weights.Vars, codes *Node) *Node {
	return nn.Product(v.Get("mixer/m"), codes)
}

func (fullMixer) graphRows(_ Config, v weights.Vars, codes, at *Node) *Node {
	return nn.Product(Gather(v.Get("mixer/m"), at), codes)
}
