package index

import (
	"fmt"
	"math"
)

// Beams are the hypotheses of a beam search over a Trie: for each user Width distinct
// prefixes of Depth codes, best first. Missing ones come last: NoNode with a total of
// -Inf, parent 0 and code 0.
type Beams struct {
	Users, Width, Depth int

	Nodes   []uint32  // [Users,Width]
	Totals  []float64 // [Users,Width] sum of the log-probabilities of the codes
	Parents []uint32  // [Users,Width] previous beam of the user that was extended
	Codes   []uint32  // [Users,Width] code that extended it
}

func newBeams(users, width, depth int) *Beams {
	size := users * width
	return &Beams{
		Users: users, Width: width, Depth: depth,
		Nodes: make([]uint32, size), Totals: make([]float64, size),
		Parents: make([]uint32, size), Codes: make([]uint32, size),
	}
}

// Start returns the empty prefix for each user.
func (t *Trie) Start(users int) *Beams { return newBeams(users, 1, 0) }

// walkUsers is the number of users a worker takes at a time.
const walkUsers = 16

// Walk extends every hypothesis by one code and keeps, for each user, the width
// continuations of largest total that are prefixes of items. The log-probability of
// code c after hypothesis b of user u is logp[(u*from.Width+b)*stride + c].
//
// The selection is exact; of equal totals the lexicographically smallest sequence
// comes first. A continuation of -Inf or NaN is never taken, and the rows of missing
// hypotheses are not read. Workers goroutines (GOMAXPROCS if <= 0) share the users.
//
// Walk panics if the sequences are whole, width is not positive, or logp is too short
// for the codes of this position.
func (t *Trie) Walk(from *Beams, logp []float32, stride, width, workers int) *Beams {
	if from.Depth >= len(t.vocab) || width <= 0 {
		panic(fmt.Sprintf("index: Walk to width %d from depth %d of a trie of depth %d", width, from.Depth, len(t.vocab)))
	}
	vocab, rows := t.vocab[from.Depth], from.Users*from.Width
	if stride < vocab && rows > 1 || rows > 0 && len(logp) < (rows-1)*stride+vocab {
		panic(fmt.Sprintf("index: Walk got %d log-probabilities for %d rows of %d codes at stride %d", len(logp), rows, vocab, stride))
	}
	to := newBeams(from.Users, width, from.Depth+1)
	forBlocks(from.Users, walkUsers, workers, func(first, last int) {
		for user := first; user < last; user++ {
			t.extend(from, to, user, logp[user*from.Width*stride:], stride)
		}
	})
	return to
}

// extend fills the hypotheses of one user, kept sorted as they are found.
func (t *Trie) extend(from, to *Beams, user int, logp []float32, stride int) {
	width := to.Width
	nodes, totals := to.Nodes[user*width:(user+1)*width], to.Totals[user*width:(user+1)*width]
	parents, codes := to.Parents[user*width:(user+1)*width], to.Codes[user*width:(user+1)*width]
	found := 0
	worst, worstNode := math.Inf(-1), uint32(0) // a newcomer must be better
	for b, node := range from.Nodes[user*from.Width : (user+1)*from.Width] {
		if node == NoNode {
			continue
		}
		base := from.Totals[user*from.Width+b]
		row := logp[b*stride:]
		children, first := t.Children(node)
		for i, code := range children {
			total := base + float64(row[code])
			child := first + uint32(i)
			if !(total > worst || total == worst && child < worstNode) {
				continue
			}
			if found < width {
				found++
			}
			at := found - 1
			for ; at > 0 && (total > totals[at-1] || total == totals[at-1] && child < nodes[at-1]); at-- {
				nodes[at], totals[at], parents[at], codes[at] = nodes[at-1], totals[at-1], parents[at-1], codes[at-1]
			}
			nodes[at], totals[at], parents[at], codes[at] = child, total, uint32(b), code
			if found == width {
				worst, worstNode = totals[width-1], nodes[width-1]
			}
		}
	}
	for i := found; i < width; i++ {
		nodes[i], totals[i] = NoNode, math.Inf(-1)
	}
}

// Rank writes to items [b.Users,k] the first k items of each user's hypotheses, best
// hypothesis first, then by number, and Missing where there are fewer. It panics
// unless b holds whole sequences and items is long enough.
func (t *Trie) Rank(b *Beams, k int, items []uint32) {
	if b.Depth != len(t.vocab) || k <= 0 || len(items) < b.Users*k {
		panic(fmt.Sprintf("index: Rank of %d items for %d users at depth %d of %d got a slice of length %d",
			k, b.Users, b.Depth, len(t.vocab), len(items)))
	}
	for user := range b.Users {
		out := items[user*k : (user+1)*k]
		for _, node := range b.Nodes[user*b.Width : (user+1)*b.Width] {
			if node != NoNode {
				out = out[copy(out, t.Items(node)):]
			}
		}
		for i := range out {
			out[i] = Missing
		}
	}
}
