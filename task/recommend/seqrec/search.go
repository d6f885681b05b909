package seqrec

import (
	"context"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// search answers the questions of one block.
func (s *BeamSearch) search(ctx context.Context, questions []network.Question, shape Shape, k int) ([][]network.Scored, error) {
	inputs, err := s.model.inputs(s.items, questions, shape)
	if err != nil {
		return nil, err
	}
	seen := s.seenPrefixes(questions)
	decoding, err := s.begin(inputs)
	if err != nil {
		return nil, fmt.Errorf("encoding histories: %w", err)
	}
	defer decoding.finalize()
	for user, q := range questions {
		if first := float64(decoding.logp[user*s.model.vocab.Codes[0]]); math.IsNaN(first) {
			return nil, fmt.Errorf("the model predicts no numbers for user %q: its variables are not finite, train it again", q.Name)
		}
	}
	answers := s.answers(questions)
	beams, width := s.items.Trie.Start(shape.Rows), min(s.options.Depth, s.items.Len()) // more would stay empty
	for t, codes := range s.model.vocab.Codes {
		if t > 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := decoding.step(beams); err != nil {
				return nil, fmt.Errorf("predicting position %d: %w", t, err)
			}
		}
		s.addPrior(answers, beams, decoding.logp, codes)
		seen.hide(beams, decoding.logp, codes)
		beams = s.items.Trie.Walk(beams, decoding.logp, codes, width, 0)
	}
	return s.collect(questions, beams, k), nil
}

// collect lists the items of whole IDs.
func (s *BeamSearch) collect(questions []network.Question, beams *index.Beams, k int) [][]network.Scored {
	results := make([][]network.Scored, len(questions))
	for user, q := range questions {
		seen := map[uint32]bool{}
		if s.options.ExcludeSeen { // items that share an ID with others are seen one by one
			for _, item := range q.History {
				seen[uint32(item)] = true
			}
		}
		found := make([]network.Scored, 0, k)
		for b := user * beams.Width; b < (user+1)*beams.Width && len(found) < k; b++ {
			if beams.Nodes[b] == index.NoNode {
				break
			}
			for _, item := range s.items.Trie.Items(beams.Nodes[b]) {
				if !seen[item] && len(found) < k {
					found = append(found, network.Scored{Item: int32(item), Score: beams.Totals[b]})
				}
			}
		}
		results[user] = found
	}
	return results
}

// seenPrefixes are, for each user, the prefixes under which there is nothing new.
type seenPrefixes []map[uint32][]uint32 // by user and parent node, the codes that lead to them

// seenPrefixes finds the prefixes that a search must not enter.
func (s *BeamSearch) seenPrefixes(questions []network.Question) seenPrefixes {
	if !s.options.ExcludeSeen {
		return nil
	}
	trie := s.items.Trie
	all := make(seenPrefixes, len(questions))
	for user, q := range questions {
		seen, below := map[int32]bool{}, map[uint32]int{} // seen items below a node
		all[user] = map[uint32][]uint32{}
		for _, item := range q.History {
			if seen[item] {
				continue
			}
			seen[item] = true
			node := trie.Root()
			for _, code := range s.items.ID(item) {
				parent := node
				node = trie.Child(node, code)
				below[node]++
				if below[node] == len(trie.Items(node)) {
					all[user][parent] = append(all[user][parent], code)
				}
			}
		}
	}
	return all
}

// hide makes the codes that lead to nothing new impossible.
func (p seenPrefixes) hide(beams *index.Beams, logp []float32, codes int) {
	for user, byParent := range p {
		for b := user * beams.Width; b < (user+1)*beams.Width; b++ {
			for _, code := range byParent[beams.Nodes[b]] {
				logp[b*codes+int(code)] = float32(math.Inf(-1))
			}
		}
	}
}
