package prior

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/task/prior/gpt"
)

// The bits of code frequencies are those of Laplace's rule, level by level; neighbours
// that decide a code leave few bits to it; both are stored.
func TestReference(t *testing.T) {
	l := gpt.Layout{Vocab: []int{4, 2}, Cells: 64}
	var rows Rows
	for i := range 30 { // stripes: the code above is the same
		rows.Starts = append(rows.Starts, 0)
		for cell := range 64 {
			rows.Codes = append(rows.Codes, uint32((cell%8*7+i*cell%8*3)%4), uint32(cell%8+i)%2)
		}
	}
	r, err := fitReference(t.Context(), l, rows, 8, 8, nil)
	if err != nil {
		t.Fatal(err)
	}
	held := Rows{Starts: []int32{0}, Codes: rows.codes(7, l)}
	path := filepath.Join(t.TempDir(), ReferenceFile)
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	stored, err := readReference(path, l.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i, code := range held.Codes {
		count, total := 1, l.Vocab[i%2]
		for at := i % 2; at < len(rows.Codes); at += 2 {
			total++
			if rows.Codes[at] == code {
				count++
			}
		}
		want += math.Log2(float64(total)/float64(count)) / float64(len(held.Codes))
	}
	for _, r := range []*Reference{r, stored} {
		bits, err := r.bits(t.Context(), l, held, 8, 8)
		if err != nil || math.Abs(bits.Unigram-want) > 1e-9 {
			t.Errorf("code frequencies take %g bits, want %g; %v", bits.Unigram, want, err)
		}
		if bits.Neighbour > want/2 {
			t.Errorf("the neighbour model takes %g bits a token, code frequencies %g", bits.Neighbour, want)
		}
	}
	if _, err := readReference(path, []int{4, 3}); err == nil {
		t.Error("counts of 2 codes were read as those of 3")
	}
}

// Rows are fingerprinted by all that training depends on.
func TestFingerprintOfRows(t *testing.T) {
	base := func() *Dataset {
		return &Dataset{Layout: gpt.Layout{Vocab: []int{3}, Cells: 2}, Train: Rows{[]int32{0, 1}, []uint32{0, 1, 2, 0}},
			Validation: Rows{[]int32{0}, []uint32{1, 1}}, Classes: []string{"a", "b"}}
	}
	seen := []string{base().Fingerprint()}
	if seen[0] != base().Fingerprint() {
		t.Error("the same rows have two fingerprints")
	}
	for i, change := range []func(*Dataset){
		func(d *Dataset) { d.Train.Codes[3] = 1 }, func(d *Dataset) { d.Train.Starts[0] = 1 }, func(d *Dataset) { d.Classes[1] = "c" },
		func(d *Dataset) { d.Layout.Vocab[0] = 4 }, func(d *Dataset) { d.Validation, d.Train = d.Train, d.Validation },
	} {
		d := base()
		change(d)
		if slices.Contains(seen, d.Fingerprint()) {
			t.Errorf("change %d has the fingerprint of another", i)
		}
		seen = append(seen, d.Fingerprint())
	}
}
