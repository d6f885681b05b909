package transform

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

func (lowRankMixer) graph(_ Config, v weights.Vars, codes *Node) *Node {
	return product(v.Get("mixer/a"), product(v.Get("mixer/b"), codes))
}

func (lowRankMixer) graphRows(_ Config, v weights.Vars, codes, at *Node) *Node {
	return product(Gather(v.Get("mixer/a"), at), product(v.Get("mixer/b"), codes))
}
