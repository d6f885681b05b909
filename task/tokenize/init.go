package tokenize

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/gritvq/gritvq/export/faiss"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// openInit reads the index that a value such as "faiss:index.faiss" names.
func openInit(value string) (*faiss.Index, error) {
	kind, path, _ := strings.Cut(value, ":")
	if kind != "faiss" || path == "" {
		return nil, usage.Errorf("--init %s: name a FAISS index as faiss:index.faiss", value)
	}
	return faiss.Read(path)
}

// InitDefaults returns the settings that codes of another program decide; nil without such a value.
func InitDefaults(value string) (func(*vqtrain.Config), error) {
	if value == "" {
		return nil, nil
	}
	x, err := openInit(value)
	if err != nil {
		return nil, err
	}
	return func(c *vqtrain.Config) {
		c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Parts = x.Codes, len(x.Books), 1
		if x.Product {
			c.Quantizer.Levels, c.Quantizer.Parts = 1, len(x.Books)
		}
	}, nil
}

// importCodes takes the codes to start from, if some were given, in the units of the tokenizer: without a network they are
// standardised as the vectors are.
func (t *training) importCodes(ctx context.Context) error {
	var flag string
	var read func(ctx context.Context, m *tokenizer.Tokenizer) ([]*weights.Array, error)
	switch {
	case t.Codebook != "" && t.Init != "":
		return usage.Errorf("--init-codebook and --init exclude each other: both are codes to start from")
	case t.Codebook != "":
		flag, read = "--init-codebook", t.readCodebook
	case t.Init != "":
		flag, read = "--init", t.readIndex
	default:
		return nil
	}
	m, err := tokenizer.New(t.Config.Spec, t.data.Set.Input())
	if err != nil {
		return usage.Error{Err: err}
	}
	books, err := read(ctx, m)
	if err != nil {
		return err
	}
	layout := m.Quantizer.Layout()
	network := m.InitNetwork(t.Config.Seed, tokenizer.Sample{Mean: t.data.Mean, Variance: t.data.Variance})
	hash := sha256.New()
	for i, book := range books {
		if m.Identity() {
			start, end := layout.Bounds(i / layout.Levels)
			standardize(book, network["state/mean"].Data[start:end], network["state/scale"].Data[start:end], i%layout.Levels == 0)
		}
		if err := binary.Write(hash, binary.LittleEndian, book.Data); err != nil {
			return err
		}
	}
	t.codes = books
	if _, err := vq.StartFrom(m.Quantizer, t.codes); err != nil {
		return usage.Errorf("%s: %w; leave it out", flag, err)
	}
	t.fingerprint += " codebook sha256:" + hex.EncodeToString(hash.Sum(nil))
	return nil
}

// readCodebook reads an array of codes, level after level.
func (t *training) readCodebook(ctx context.Context, m *tokenizer.Tokenizer) ([]*weights.Array, error) {
	v, _, err := openSet(ctx, t.Codebook, tokenizer.Config{}, false, 0, t.watch)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	q := t.Config.Quantizer
	levels := q.Levels
	if q.Shared {
		levels = 1
	}
	if q.Parts > 1 {
		return nil, usage.Errorf("--init-codebook: a codebook can be imported for one part only, --parts is %d", q.Parts)
	}
	if v.Len() != q.Codes*levels || v.Input() != m.Dim() {
		return nil, fmt.Errorf("%s has shape (%d, %d), the tokenizer starts from (%d, %d): %s of %d codes; change --codes, --levels or --dim",
			t.Codebook, v.Len(), v.Input(), q.Codes*levels, m.Dim(), report.Counted(levels, "level"), q.Codes)
	}
	rows := make([]int, v.Len())
	for i := range rows {
		rows[i] = i
	}
	all, _, err := finite{v, "clean the file"}.Read(rows)
	if err != nil {
		return nil, err
	}
	var books []*weights.Array
	for l := range levels {
		books = append(books, &weights.Array{Shape: []int{q.Codes, m.Dim()}, Data: all.Values[l*q.Codes*m.Dim() : (l+1)*q.Codes*m.Dim()]})
	}
	return books, nil
}

// readIndex reads the codes of a FAISS index.
func (t *training) readIndex(_ context.Context, m *tokenizer.Tokenizer) ([]*weights.Array, error) {
	x, err := openInit(t.Init)
	if err != nil {
		return nil, err
	}
	if m.Identity() {
		if err := x.Undo(); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Init, err)
		}
	} else if len(x.Transforms) > 0 {
		return nil, fmt.Errorf("%s holds codes behind a transform of vectors, and the tokenizer has a network of its own: use --hidden none",
			t.Init)
	}
	q := t.Config.Quantizer
	levels, parts := len(x.Books), 1
	if x.Product {
		levels, parts = 1, len(x.Books)
	}
	if x.Codes != q.Codes || levels != q.Levels || parts != q.Parts || x.Dim != m.Dim() || q.Shared {
		return nil, fmt.Errorf("%s holds %d levels x %d parts x %d codes of %d dimensions, the tokenizer starts from %d x %d x %d of %d; "+
			"leave out --levels, --parts, --codes and quantizer.shared, or change --dim",
			t.Init, levels, parts, x.Codes, x.Dim, q.Levels, q.Parts, q.Codes, m.Dim())
	}
	var books []*weights.Array
	for i, book := range x.Books {
		for _, v := range book {
			if v-v != 0 {
				return nil, fmt.Errorf("codebook %d of %s holds NaN or Inf", i, t.Init)
			}
		}
		books = append(books, &weights.Array{Shape: []int{x.Codes, x.Width()}, Data: book})
	}
	return books, nil
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
