package vqtrain

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// DistortionRecord tells what the transform E' = M E W does to distances between codes,
// over all codebooks. Row normalisation is not part of the bounds, which are the paper's:
//
//	|M_i - M_j| σmin(E) σmin(W) ≤ |c'_i - c'_j| ≤ |M_i - M_j| σmax(E) σmax(W).
//
// The lower one holds for differences M_i - M_j in the column space of E alone, which
// for more codes than dimensions is not all of them: the measured ratios say what is kept.
type DistortionRecord struct {
	Lower   float64 `json:"lower"`   // σmin(E) σmin(W)
	Upper   float64 `json:"upper"`   // σmax(E) σmax(W)
	Least   float64 `json:"least"`   // smallest |c'_i - c'_j| / |e_i - e_j| of the pairs drawn
	Largest float64 `json:"largest"` // and the largest
}

// distortionPairs is the number of pairs of codes drawn from each codebook.
const distortionPairs = 256

// measureDistortion compares the distances of raw and usable codes.
func (t *Trainer) measureDistortion(set weights.Set, books []*weights.Array) error {
	layout := t.model.Quantizer.Layout()
	var slots []int
	for _, own := range layout.Books() {
		dir := layout.Path(own[0])
		if set[dir+"/"+vq.CodesPath] != nil && (set[dir+"/"+vq.FeatureMapPath] != nil || !t.config.Quantizer.Transform.IsNone()) {
			slots = append(slots, own[0])
		}
	}
	if len(slots) == 0 {
		return nil
	}
	grams, err := t.look("scatter of the raw codes", func(v weights.Vars, _ []*graph.Node) (list []*graph.Node) {
		for _, slot := range slots {
			e := v.In(vq.Prefix).Get(layout.Path(slot) + "/" + vq.CodesPath)
			list = append(list, graph.DotGeneral(e, []int{0}, nil, e, []int{0}, nil)) // EᵀE [d,d]
		}
		return list
	})
	if err != nil {
		return fmt.Errorf("measuring the distances of codes: %w", err)
	}
	r := &DistortionRecord{Lower: math.Inf(1), Least: math.Inf(1)}
	for i, slot := range slots {
		dir := layout.Path(slot)
		least, largest := singularOfGram(grams[i])
		if w := set[dir+"/"+vq.FeatureMapPath]; w != nil {
			most, fewest := eval.SingularRange(w.Data, w.Shape[0])
			least, largest = least*fewest, largest*most
		}
		r.Lower, r.Upper = math.Min(r.Lower, least), math.Max(r.Upper, largest)
		r.compare(set[dir+"/"+vq.CodesPath], books[slot], t.config.Seed)
	}
	for _, x := range []*float64{&r.Lower, &r.Upper, &r.Least, &r.Largest} {
		*x = train.Finite(*x)
	}
	t.record.Distortion = r
	return nil
}

// singularOfGram returns the smallest and the largest singular value of E, given EᵀE.
func singularOfGram(gram *weights.Array) (least, largest float64) {
	d := gram.Shape[0]
	values := make([]float64, d*d)
	for i, x := range gram.Data {
		values[i] = float64(x)
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(d, values), false) {
		return math.NaN(), math.NaN()
	}
	sorted := eigen.Values(nil) // ascending; rounding makes a zero slightly negative
	return math.Sqrt(math.Max(0, sorted[0])), math.Sqrt(math.Max(0, sorted[d-1]))
}

// compare adds pairs of codes, always the same ones, to the measured ratios.
func (r *DistortionRecord) compare(raw, usable *weights.Array, seed uint64) {
	k := raw.Shape[0]
	if k < 2 || len(raw.Data) != len(usable.Data) {
		return
	}
	rng := weights.Rand(seed, "pairs of codes")
	for range distortionPairs {
		i := rng.IntN(k)
		j := (i + 1 + rng.IntN(k-1)) % k
		before, after := distance(raw.Row(i), raw.Row(j)), distance(usable.Row(i), usable.Row(j))
		if before > 0 {
			r.Least, r.Largest = math.Min(r.Least, after/before), math.Max(r.Largest, after/before)
		}
	}
}

func distance(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x-b[i]) * float64(x-b[i])
	}
	return math.Sqrt(sum)
}

// driftOf is |C' - before| / |before| over all codebooks.
func driftOf(before, books []*weights.Array) float64 {
	moved, size := 0.0, 0.0
	for b, book := range before {
		for i, x := range book.Data {
			change := float64(books[b].Data[i] - x)
			moved, size = moved+change*change, size+float64(x)*float64(x)
		}
	}
	if size == 0 {
		return 0
	}
	return math.Sqrt(moved / size)
}
