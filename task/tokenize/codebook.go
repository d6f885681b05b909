package tokenize

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/weights"
)

// importCodebook reads the codes to start from. Without a network they are standardised as the vectors are.
func (t *training) importCodebook(ctx context.Context, path string) error {
	v, _, err := openSet(ctx, path, tokenizer.Config{}, false, 0, t.watch)
	if err != nil {
		return err
	}
	defer v.Close()
	m, err := tokenizer.New(t.Config.Spec, t.data.Set.Input())
	if err != nil {
		return usage.Error{Err: err}
	}
	q := t.Config.Quantizer
	books := q.Levels
	if q.Shared {
		books = 1
	}
	if q.Parts > 1 {
		return usage.Errorf("--init-codebook: a codebook can be imported for one part only, --parts is %d", q.Parts)
	}
	if v.Len() != q.Codes*books || v.Input() != m.Dim() {
		return fmt.Errorf("%s has shape (%d, %d), the tokenizer starts from (%d, %d): %s of %d codes; change --codes, --levels or --dim",
			path, v.Len(), v.Input(), q.Codes*books, m.Dim(), report.Counted(books, "level"), q.Codes)
	}
	rows := make([]int, v.Len())
	for i := range rows {
		rows[i] = i
	}
	book, _, err := finite{v, "clean the file"}.Read(rows)
	if err != nil {
		return err
	}
	network := m.InitNetwork(t.Config.Seed, t.data.Mean, t.data.Variance)
	hash := sha256.New()
	for l := range books {
		level := &weights.Array{Shape: []int{q.Codes, m.Dim()}, Data: book.Values[l*q.Codes*m.Dim() : (l+1)*q.Codes*m.Dim()]}
		if m.Identity() {
			standardize(level, network["state/mean"].Data, network["state/scale"].Data, l == 0)
		}
		if err := binary.Write(hash, binary.LittleEndian, level.Data); err != nil {
			return err
		}
		t.codes = append(t.codes, level)
	}
	t.fingerprint += " codebook sha256:" + hex.EncodeToString(hash.Sum(nil))
	return nil
}

// standardize maps codes to the tokenizer's units. Later levels code residuals, whose mean is 0.
func standardize(book *weights.Array, mean, scale []float32, first bool) {
	for i := range book.Data {
		j := i % len(mean)
		if first {
			book.Data[i] -= mean[j]
		}
		book.Data[i] /= scale[j]
	}
}
