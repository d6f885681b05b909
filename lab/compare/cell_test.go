package compare

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

func TestPointOfBits(t *testing.T) {
	for bits, want := range map[int]Point{
		1: {2, 1, 1}, 3: {8, 1, 1}, 4: {16, 1, 1}, 7: {128, 1, 1}, 8: {256, 1, 1}, 10: {32, 2, 1}, 11: {2048, 1, 1}, 12: {64, 2, 1},
		16: {256, 2, 1}, 20: {32, 4, 1}, 26: {1 << 13, 2, 1}, 32: {256, 4, 1}, 64: {256, 8, 1},
	} {
		got, err := PointOfBits(bits)
		if err != nil || got != want || got.Bits() != float64(bits) {
			t.Errorf("%d bits gave %+v of %g bits, %v, want %+v", bits, got, got.Bits(), err, want)
		}
	}
	for _, bits := range []int{0, -8, 17, 31} {
		if got, err := PointOfBits(bits); err == nil {
			t.Errorf("%d bits gave %+v", bits, got)
		}
	}
}

// Every method of the registry gets the bits that were asked for, or says by its
// vocabulary that it has others.
func TestEveryMethodGetsThePointsBits(t *testing.T) {
	p := Point{Codes: 256, Levels: 2, Parts: 2}
	for _, method := range vq.MethodNames() {
		q, err := vq.Defaults(method)
		if err != nil {
			t.Fatal(err)
		}
		product := q.Parts > 1
		q.Codes = p.Codes
		q.Arrange(p.Levels, p.Parts)
		if q.Codes != 256 || q.Levels*q.Parts != 4 || product && q.Levels != 1 {
			t.Errorf("%s is arranged as %d x %d x %d", method, q.Levels, q.Parts, q.Codes)
		}
		quantizer, err := vq.New(q, 32)
		if err != nil {
			t.Errorf("%s: %v", method, err)
			continue
		}
		bits := 0.0
		for _, k := range quantizer.Layout().Vocab {
			bits += math.Log2(float64(k))
		}
		if math.Abs(bits/p.Bits()-1) > 0.05 {
			t.Errorf("%s has %g bits, want about %g", method, bits, p.Bits())
		}
	}
}

// blank is a subject of vectors of dimension 16.
func blank(t *testing.T, fingerprint string) *subject {
	t.Helper()
	v, err := vectors.Open(t.Context(), "synthetic:mixture?rows=32&dim=16", vectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return &subject{fingerprint: fingerprint, source: vqtrain.Source{Set: v}}
}

func newTestCell(t *testing.T, method string, seed uint64, change func(*vqtrain.Config)) Cell {
	t.Helper()
	c, err := vqtrain.Default(method)
	if err != nil {
		t.Fatal(err)
	}
	c.Seed = seed
	if change != nil {
		change(&c)
	}
	cell, err := newCell(method, blank(t, "sha256:data"), Point{Codes: c.Quantizer.Codes, Levels: c.Quantizer.Levels,
		Parts: c.Quantizer.Parts}, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

func TestCellIDsNameDataSettingsAndSeed(t *testing.T) {
	base := newTestCell(t, "ste", 1, nil)
	if again := newTestCell(t, "ste", 1, nil); again.ID != base.ID {
		t.Error("the same cell has two names")
	}
	other, err := newCell("ste", blank(t, "sha256:other"), base.Point, base.Config, nil)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{base.ID: "base"}
	for name, cell := range map[string]Cell{
		"data": other, "seed": newTestCell(t, "ste", 2, nil), "method": newTestCell(t, "ema", 1, nil),
		"steps":    newTestCell(t, "ste", 1, func(c *vqtrain.Config) { c.Train.Steps++ }),
		"loss":     newTestCell(t, "ste", 1, func(c *vqtrain.Config) { c.Quantizer.Loss.Commitment *= 2 }),
		"network":  newTestCell(t, "ste", 1, func(c *vqtrain.Config) { c.Model.Hidden = []int{5} }),
		"codebook": newTestCell(t, "ste", 1, func(c *vqtrain.Config) { c.Quantizer.Codes = 64 }),
	} {
		if same, taken := ids[cell.ID]; taken {
			t.Errorf("%s has the id of %s", name, same)
		}
		ids[cell.ID] = name
	}
}

func TestImpossibleSettingsAreTheCellsError(t *testing.T) {
	cell := newTestCell(t, "ste", 1, func(c *vqtrain.Config) { c.Quantizer.Codes = 1 })
	if cell.Err == nil || !strings.Contains(cell.Err.Error(), "quantizer.codes") {
		t.Errorf("got %v", cell.Err)
	}
}

func ExamplePointOfBits() {
	p, _ := PointOfBits(32)
	fmt.Println(p)
	// Output: 4 x 256
}
