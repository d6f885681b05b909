package twotower

import (
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// wholeOffsets are the prior's scores of all items for each example [B, n], or 0
// without one, and those of the targets [B]. Items that are not to be beaten are
// hidden: the other answers, and those with the same vector. The first array is all that
// grows with the catalogue.
func wholeOffsets(items *network.Items, examples []network.Example, prior network.Prior, own bool) (offsets, targets []float32) {
	n := items.Len()
	offsets, targets = make([]float32, len(examples)*n), make([]float32, len(examples))
	eachExample(len(examples), func(i int) {
		e, row := examples[i], offsets[i*n:(i+1)*n]
		if prior != nil {
			prior.AnswerWithout(e).Fill(prior.Base(), row)
		}
		targets[i] = row[e.Target]
		for _, other := range e.Relevant {
			if other != e.Target {
				row[other] = hidden
			}
		}
		if !own {
			hideTwins(items, e.Target, row)
		}
	})
	return offsets, targets
}

// hideTwins hides items with the target's ID.
func hideTwins(items *network.Items, target int32, row []float32) {
	for _, twin := range items.Trie.Items(items.Trie.Find(items.ID(target))) {
		if int32(twin) != target {
			row[twin] = hidden
		}
	}
}

// targetScores are the prior's scores of all targets for each example [B, B].
func targetScores(examples []network.Example, prior network.Prior) []float32 {
	n := len(examples)
	scores := make([]float32, n*n)
	eachExample(n, func(i int) {
		answer := prior.AnswerWithout(examples[i])
		for j, other := range examples {
			scores[i*n+j] = answer.Score(prior.Base(), other.Target)
		}
	})
	return scores
}

// eachExample works on examples in parallel.
func eachExample(n int, do func(i int)) {
	_ = parallel.Each(n, 0, func(i int) error {
		do(i)
		return nil
	})
}
