package network

import (
	"math"
	"math/rand/v2"
	"testing"
)

// fixed is a prior whose answers are given.
type fixed struct {
	base   []float32
	answer Likely
}

func (f fixed) Base() []float32              { return f.base }
func (f fixed) Answer(Question) Likely       { return f.answer }
func (f fixed) AnswerWithout(Example) Likely { return f.answer }

// Probabilities of codes are ratios of masses by brute force, and their products along
// an ID are the item's share of the prior's whole distribution.
func TestMasses(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	vocab := []int{5, 3, 4}
	for range 20 {
		var codes []uint32
		n := 30
		for _, i := range rng.Perm(60)[:n] {
			codes = append(codes, uint32(i/12), uint32(i/4%3), uint32(i%4))
		}
		items, err := NewItems(codes, vocab)
		if err != nil {
			t.Fatal(err)
		}
		prior := fixed{base: make([]float32, n)}
		for i := range n {
			prior.base[i] = float32(rng.NormFloat64() * 3)
			if rng.IntN(3) == 0 {
				prior.answer.Items = append(prior.answer.Items, int32(i))
				prior.answer.Scores = append(prior.answer.Scores, float32(rng.NormFloat64()*3+2))
			}
		}
		shares, whole := make([]float64, n), 0.0
		scores := make([]float32, n)
		prior.answer.Fill(prior.base, scores)
		for i, x := range scores {
			if x != prior.answer.Score(prior.base, int32(i)) {
				t.Fatalf("item %d has two scores", i)
			}
			shares[i] = math.Exp(float64(x))
			whole += shares[i]
		}
		masses := NewMasses(items, prior)
		answered := masses.Answer(Question{})
		for item := range n {
			node, product, logp := items.Trie.Root(), 1.0, make([]float32, 0, 5)
			for at, code := range items.ID(int32(item)) {
				logp = logp[:vocab[at]]
				answered.Children(node, logp)
				for other, x := range logp {
					child, mass, parent := items.Trie.Child(node, uint32(other)), 0.0, 0.0
					for _, below := range items.Trie.Items(node) {
						parent += shares[below]
					}
					if int(child) < len(masses.base) {
						for _, below := range items.Trie.Items(child) {
							mass += shares[below]
						}
					}
					if mass == 0 && x > Impossible/2 || mass > 0 && math.Abs(float64(x)-math.Log(mass/parent)) > 1e-5 {
						t.Fatalf("code %d at position %d has %g, want %g", other, at, x, math.Log(mass/parent))
					}
				}
				product *= math.Exp(float64(logp[code]))
				node = items.Trie.Child(node, code)
			}
			if want := shares[item] / whole; math.Abs(product-want) > 1e-5*want {
				t.Fatalf("item %d has the probability %g, want %g", item, product, want)
			}
		}
	}
}
