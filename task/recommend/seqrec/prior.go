package seqrec

import (
	"math"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// answers are the masses of the prior after each question, nil without a prior.
func (s *BeamSearch) answers(questions []network.Question) []*network.Answered {
	if s.masses == nil {
		return nil
	}
	all := make([]*network.Answered, len(questions))
	_ = parallel.Each(len(questions), 0, func(i int) error {
		all[i] = s.masses.Answer(questions[i])
		return nil
	})
	return all
}

// addPrior turns scores into log-probabilities: those of a beam's codes are the softmax
// of score + log(mass(child)/mass(node)) over the children of its node.
func (s *BeamSearch) addPrior(answers []*network.Answered, beams *index.Beams, scores []float32, codes int) {
	_ = parallel.Each(len(answers), 0, func(user int) error {
		prior := make([]float32, codes)
		for b := user * beams.Width; b < (user+1)*beams.Width; b++ {
			if node := beams.Nodes[b]; node != index.NoNode {
				answers[user].Children(node, prior)
				addPrior(scores[b*codes:(b+1)*codes], prior)
			}
		}
		return nil
	})
}

// addPrior is the softmax of scores + prior over the codes that are possible.
func addPrior(scores, prior []float32) {
	top := math.Inf(-1)
	for i, p := range prior {
		if p <= network.Impossible/2 {
			scores[i] = float32(math.Inf(-1))
			continue
		}
		scores[i] += p
		top = max(top, float64(scores[i]))
	}
	sum := 0.0
	for i, p := range prior {
		if p > network.Impossible/2 {
			sum += network.Exp(float64(scores[i]) - top)
		}
	}
	whole := float32(top + math.Log(sum))
	for i := range scores {
		scores[i] -= whole
	}
}
