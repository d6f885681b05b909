package transform

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gritvq/gritvq/nn"

	"github.com/gritvq/gritvq/weights"
)

func (lowRankMixer) graph(_ Config, v weights.Vars, codes *Node) *Node {
	return nn.Product(v.Get("mixer/a"), nn.Product(v.Get("mixer/b"), codes))
}

func (lowRankMixer) graphRows(_ Config, v weights.Vars, codes, at *Node) *Node {
	return nn.Product(Gather(v.Get("mixer/a"), at), nn.Product(v.Get("mixer/b"), codes))
}
