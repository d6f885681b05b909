package seqrec

import (
	"math"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// seenPrefixes are, for each user, the prefixes under which there is nothing new.
type seenPrefixes []map[uint32][]uint32 // by user and parent node, the codes that lead to them

// seenPrefixes finds the prefixes that a search must not enter.
func (s *BeamSearch) seenPrefixes(questions []network.Question) seenPrefixes {
	if !s.options.ExcludeSeen {
		return nil
	}
	trie := s.items.trie
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
