package network

import "slices"

// Prior scores items before a network has learned anything: the network starts from
// these scores and learns what to add. It is safe for concurrent use.
//
// Scores are logarithms of shares of probability, up to a constant that all items have
// in common. An answer lists the items that a question says something about, so its
// size does not grow with the catalogue.
type Prior interface {
	// Base are the scores [items] of the items that an answer does not list. The
	// caller must not modify them.
	Base() []float32
	// Answer lists the other items.
	Answer(q Question) Likely
	// AnswerWithout answers an example of training as if its user had not been in the
	// log: otherwise the scores would have seen its target.
	AnswerWithout(e Example) Likely
}

// Likely lists items, ascending, and their scores.
type Likely struct {
	Items  []int32
	Scores []float32
}

// Fill writes the scores of all items.
func (l Likely) Fill(base, scores []float32) {
	copy(scores, base)
	for i, item := range l.Items {
		scores[item] = l.Scores[i]
	}
}

// Score is the score of an item.
func (l Likely) Score(base []float32, item int32) float32 {
	if at, found := slices.BinarySearch(l.Items, item); found {
		return l.Scores[at]
	}
	return base[item]
}
