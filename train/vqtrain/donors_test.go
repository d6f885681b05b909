package vqtrain

import (
	"math"
	"testing"

	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// A reset beside a used code sticks like one onto a latent, through a transform
// too.
func TestResetBesideUsedCodesSticks(t *testing.T) {
	for _, method := range []string{"ste", "ema", "grit"} {
		c := resetConfig(t, method)
		c.Quantizer.Resets.Donor = "used"
		t.Run(method, func(t *testing.T) { resetSticks(t, c, 1) })
	}
}

// Donors are living codes, drawn as often as they were used; the copies lie
// within a thousandth of the codebook's scale, and no two are equal.
func TestUsedCodesAreDrawnByUsage(t *testing.T) {
	const k, d = 4000, 3
	window := newWindow(vq.Layout{Dim: d, Parts: 1, Levels: 2, Vocab: []int{k, k}}, vq.Resets{Window: 1})
	trainer := &Trainer{state: state{Window: window}}
	codes := weights.New(k, d)
	book := deadBook{slots: []int{0, 1}}
	for code := range k {
		for j := range d {
			codes.Row(code)[j] = float32(code)
		}
		if code > 3 {
			book.codes = append(book.codes, code)
		}
	}
	window.Current[0][0], window.Previous[1][0] = 10, 20 // code 0: 30 uses over both levels
	window.Current[1][2] = 60
	window.Previous[0][3] = 10
	window.Current[0][7] = 5 // a dead code's few uses count for nothing
	targets, rows := trainer.usedCodes(codes, book, weights.Rand(1, "test"))
	if rows != len(book.codes) || len(targets) != rows*d {
		t.Fatalf("%d targets of %d values for %d dead codes", rows, len(targets), len(book.codes))
	}
	drawn, seen := map[int]float64{}, map[float32]bool{}
	scale := math.Sqrt((0 + 1 + 4 + 9) / 4.0) // of the four living codes
	offsets := 0.0
	for i := range rows {
		near := math.Round(float64(targets[i*d]))
		drawn[int(near)]++
		seen[targets[i*d]] = true
		for j := range d {
			offset := (float64(targets[i*d+j]) - near) / scale
			offsets += offset * offset / float64(rows*d)
		}
	}
	for code, share := range map[int]float64{0: 0.3, 2: 0.6, 3: 0.1} {
		got, expected := drawn[code]/float64(rows), share
		if deviation := 5 * math.Sqrt(share*(1-share)/float64(rows)); math.Abs(got-expected) > deviation {
			t.Errorf("code %d was copied with frequency %.3f, want %.3f ± %.3f", code, got, expected, deviation)
		}
		delete(drawn, code)
	}
	if len(drawn) > 0 {
		t.Errorf("codes that were never used or are dead were copied: %v", drawn)
	}
	if std := math.Sqrt(offsets); math.Abs(std/splitNoise-1) > 0.05 {
		t.Errorf("copies differ from their donors by %.2g of the scale, want %.2g", std, splitNoise)
	}
	if len(seen) < rows*9/10 {
		t.Errorf("only %d of %d copies are distinct", len(seen), rows)
	}
}

// A codebook without a living code has nothing to copy.
func TestNoUsedCodeToCopy(t *testing.T) {
	trainer := &Trainer{state: state{Window: newWindow(vq.Layout{Dim: 1, Parts: 1, Levels: 1, Vocab: []int{2}}, vq.Resets{Window: 1})}}
	targets, rows := trainer.usedCodes(weights.New(2, 1), deadBook{slots: []int{0}, codes: []int{0, 1}}, weights.Rand(1, "test"))
	if rows != 0 || len(targets) != 0 {
		t.Errorf("%d rows %v were drawn from dead codes", rows, targets)
	}
}
