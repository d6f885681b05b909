package picture

import (
	"context"
	"math"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/gradtest"
)

// The reference is k-means of whole patches, here clustered and scored without principal components.
func TestReferenceIsKMeansOfPatches(t *testing.T) {
	const size, side, n = 16, 4, 40
	set := scenes(t, n, size)
	r := untrained(t, size, []int{4, 4, 4}, 1, 1)
	train, held := dataset.Split(n, 0.25, 1)
	got, err := MeasureReference(t.Context(), gradtest.Engine(t), r.Tokenizer(), set, set, train, held, 3)
	if err != nil {
		t.Fatal(err)
	}
	patches := func(rows dataset.Selection) (cells []float32, pixels []uint8) {
		var chosen []int
		for i := range rows.Len() {
			chosen = append(chosen, rows.At(i))
		}
		items, _, err := set.Read(chosen)
		if err != nil {
			t.Fatal(err)
		}
		for i := range items.N * (size / side) * (size / side) {
			for j := range 3 * side * side {
				cells = append(cells, float32(items.Pixels[pixelAt(i, j)]))
			}
		}
		return cells, items.Pixels
	}
	x, _ := patches(train)
	y, original := patches(held)
	best := math.Inf(-1)
	for seed := range uint64(5) { // local optima differ
		centres, _, err := index.KMeans(context.Background(), x, len(x)/48, 48, 24, index.KMeansOptions{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		codes, err := index.NewCodes(centres, 24, 48)
		if err != nil {
			t.Fatal(err)
		}
		nearest := make([]uint32, len(y)/48)
		codes.Nearest(y, len(nearest), nearest, nil, 1)
		decoded := make([]uint8, len(original))
		for i, code := range nearest {
			for j, v := range codes.Row(int(code)) {
				decoded[pixelAt(i, j)] = uint8(math.Round(float64(v)))
			}
		}
		mean, pixels := 0.0, 3*size*size
		for i := range held.Len() {
			psnr, err := eval.PSNR(original[i*pixels:(i+1)*pixels], decoded[i*pixels:(i+1)*pixels])
			if err != nil {
				t.Fatal(err)
			}
			mean += psnr / float64(held.Len())
		}
		best = max(best, mean)
	}
	if got.Name != "k-means of 4 x 4 patches" || math.Abs(got.Scores.PSNR-best) > 0.4 || got.Scores.Images != held.Len() {
		t.Errorf("%s: %g dB, clustered directly %g", got.Name, got.Scores.PSNR, best)
	}
	levels := untrained(t, size, []int{4, 4, 4}, 2, 1).Tokenizer()
	two, err := MeasureReference(t.Context(), gradtest.Engine(t), levels, set, set, train, held, 3)
	if err != nil {
		t.Fatal(err)
	}
	if two.Name != "residual k-means of 4 x 4 patches" || two.Scores.PSNR < got.Scores.PSNR+1 ||
		two.Scores.BitsPerPixel != 2*got.Scores.BitsPerPixel {
		t.Errorf("two levels: %+v, one: %+v", two.Scores, got.Scores)
	}
}

// pixelAt is the place of value j of patch i in 16 px pictures of 4 x 4 patches of side 4.
func pixelAt(i, j int) int {
	y, x := i%16/4*4+j/12, i%4*4+j/3%4
	return ((i/16*16+y)*16+x)*3 + j%3
}
