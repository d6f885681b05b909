package vqtrain

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gritvq/gritvq/weights"
)

// splitNoise separates a code from the used one it copies, as a share of the
// codebook's root mean square. It only has to survive rounding: at any size, the
// two codes divide the latents of the used one between them.
const splitNoise = 1e-3

// donor draws the targets [rows,d] of a codebook's dead codes, at most one each.
type donor func(book deadBook, rng *rand.Rand) (targets []float32, rows int)

// donors returns the configured source of targets.
func (t *Trainer) donors(x *tensors.Tensor) (donor, error) {
	if t.config.Quantizer.Resets.Donor == "used" {
		books, err := t.currentBooks()
		return func(book deadBook, rng *rand.Rand) ([]float32, int) {
			return t.usedCodes(books[book.slots[0]], book, rng)
		}, err
	}
	residuals, err := t.currentResiduals(x)
	return func(book deadBook, rng *rand.Rand) ([]float32, int) {
		return currentLatents(residuals, book, rng)
	}, err
}

// currentLatents draws distinct latents of the batch, from every level that
// uses the codebook.
func currentLatents(residuals []*weights.Array, book deadBook, rng *rand.Rand) (targets []float32, rows int) {
	batch := residuals[book.slots[0]].Shape[0]
	sources := batch * len(book.slots)
	rows = min(len(book.codes), sources)
	for _, source := range rng.Perm(sources)[:rows] {
		targets = append(targets, residuals[book.slots[source/batch]].Row(source%batch)...)
	}
	return targets, rows
}

// usedCodes draws living codes of the codebook [K,d], as often as they were
// chosen lately, and adds a little noise. Without a living code there is nothing
// to copy.
func (t *Trainer) usedCodes(codes *weights.Array, book deadBook, rng *rand.Rand) (targets []float32, rows int) {
	dead := map[int]bool{}
	for _, code := range book.codes {
		dead[code] = true
	}
	counts, total, square := t.state.Window.counts(book.slots...), int64(0), 0.0
	upTo := make([]int64, codes.Shape[0]) // choices of this living code and those before
	for code := range upTo {
		if !dead[code] {
			total += counts[code]
			for _, x := range codes.Row(code) {
				square += float64(x) * float64(x)
			}
		}
		upTo[code] = total
	}
	if total == 0 {
		return nil, 0
	}
	living := len(upTo) - len(book.codes)
	noise := splitNoise * math.Sqrt(square/float64(living*codes.Shape[1]))
	for range book.codes {
		choice := rng.Int64N(total)
		from := sort.Search(len(upTo), func(code int) bool { return upTo[code] > choice })
		for _, x := range codes.Row(from) {
			targets = append(targets, x+float32(noise*rng.NormFloat64()))
		}
	}
	return targets, len(book.codes)
}
