package transform

import (
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

func (identityMixer) graph(_ Config, _ weights.Vars, codes *Node) *Node { return codes }

func (identityMixer) graphRows(_ Config, _ weights.Vars, codes, at *Node) *Node {
	return Gather(codes, at)
}
