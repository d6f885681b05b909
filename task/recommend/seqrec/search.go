package seqrec

import (
	"context"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/index"
)

// search answers the queries of one block.
func (s *BeamSearch) search(ctx context.Context, queries []Query, shape Shape, k int) ([][]Scored, error) {
	inputs, err := s.model.queryInputs(s.items, queries, shape)
	if err != nil {
		return nil, err
	}
	seen := s.seenPrefixes(queries)
	decoding, err := s.begin(inputs)
	if err != nil {
		return nil, fmt.Errorf("encoding histories: %w", err)
	}
	defer decoding.finalize()
	for user, q := range queries {
		if first := float64(decoding.logp[user*s.model.vocab[0]]); math.IsNaN(first) {
			return nil, fmt.Errorf("the model predicts no numbers for user %q: its variables are not finite, train it again", q.User)
		}
	}
	beams := s.items.trie.Start(shape.Rows)
	for t, codes := range s.model.vocab {
		if t > 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err := decoding.step(beams); err != nil {
				return nil, fmt.Errorf("predicting position %d: %w", t, err)
			}
		}
		seen.hide(beams, decoding.logp, codes)
		beams = s.items.trie.Walk(beams, decoding.logp, codes, s.options.Beam, 0)
	}
	return s.collect(queries, beams, k), nil
}

// collect lists the items of whole IDs.
func (s *BeamSearch) collect(queries []Query, beams *index.Beams, k int) [][]Scored {
	results := make([][]Scored, len(queries))
	for user, q := range queries {
		seen := map[uint32]bool{}
		if s.options.ExcludeSeen { // items that share an ID with others are seen one by one
			for _, item := range q.History {
				seen[uint32(item)] = true
			}
		}
		found := make([]Scored, 0, k)
		for b := user * beams.Width; b < (user+1)*beams.Width && len(found) < k; b++ {
			if beams.Nodes[b] == index.NoNode {
				break
			}
			for _, item := range s.items.trie.Items(beams.Nodes[b]) {
				if !seen[item] && len(found) < k {
					found = append(found, Scored{Item: int32(item), LogProbability: beams.Totals[b]})
				}
			}
		}
		results[user] = found
	}
	return results
}
