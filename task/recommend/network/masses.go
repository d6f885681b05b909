package network

import (
	"math"
	"slices"
)

// Masses turns a prior's scores of items into probabilities of the codes of IDs: the
// mass of a node of the trie is the sum of exp(score) over the items below it, and a
// code that leads from a node to a child has the probability mass(child)/mass(node). So
// walking down by these probabilities draws items as the prior does.
type Masses struct {
	items *Items
	prior Prior
	place []int32   // [n] of an item in the order of the trie
	base  []float64 // [nodes] masses without a question
}

// NewMasses sums up the base. Memory is 8 bytes a node of the trie and 4 an item.
func NewMasses(items *Items, prior Prior) *Masses {
	trie := items.Trie
	m := &Masses{items: items, prior: prior, place: make([]int32, items.Len())}
	for place, item := range trie.Items(trie.Root()) {
		m.place[item] = int32(place)
	}
	for item, score := range prior.Base() {
		node, mass := trie.Root(), Exp(float64(score))
		m.add(node, mass)
		for _, code := range items.ID(int32(item)) {
			node = trie.Child(node, code)
			m.add(node, mass)
		}
	}
	return m
}

func (m *Masses) add(node uint32, mass float64) {
	if missing := int(node) + 1 - len(m.base); missing > 0 {
		m.base = append(m.base, make([]float64, missing)...)
	}
	m.base[node] += mass
}

// Answered are the masses after a question. Memory is that of the answer.
type Answered struct {
	masses *Masses
	places []int32   // of the items that the answer lists, ascending
	more   []float64 // what each adds to the base
}

// Answer are the masses after a question, AnswerWithout after an example of training.
func (m *Masses) Answer(q Question) *Answered { return m.of(m.prior.Answer(q)) }

// AnswerWithout leaves the example's user out of the log.
func (m *Masses) AnswerWithout(e Example) *Answered { return m.of(m.prior.AnswerWithout(e)) }

// of sums up an answer of the prior.
func (m *Masses) of(l Likely) *Answered {
	a := &Answered{masses: m, places: make([]int32, len(l.Items)), more: make([]float64, len(l.Items))}
	order := make([]int, len(l.Items))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return int(m.place[l.Items[x]]) - int(m.place[l.Items[y]]) })
	base := m.prior.Base()
	for i, at := range order {
		item := l.Items[at]
		a.places[i] = m.place[item]
		a.more[i] = Exp(float64(l.Scores[at])) - Exp(float64(base[item]))
	}
	return a
}

// Impossible stands for the logarithm of the probability of a code that leads to no
// item: that of any other is larger than half of it.
const Impossible = -1e9

// Children writes the logarithms of the probabilities of all codes after a node.
func (a *Answered) Children(node uint32, logp []float32) {
	for i := range logp {
		logp[i] = Impossible
	}
	trie := a.masses.items.Trie
	codes, first := trie.Children(node)
	masses, whole := make([]float64, len(codes)), 0.0
	next := int(a.masses.place[trie.Items(node)[0]])
	at, _ := slices.BinarySearch(a.places, int32(next))
	for i := range codes {
		child := first + uint32(i)
		masses[i] = a.masses.base[child]
		next += len(trie.Items(child))
		for ; at < len(a.places) && int(a.places[at]) < next; at++ {
			masses[i] += a.more[at]
		}
		masses[i] = max(masses[i], math.SmallestNonzeroFloat64)
		whole += masses[i]
	}
	for i, code := range codes {
		logp[code] = float32(math.Log(masses[i] / whole))
	}
}
