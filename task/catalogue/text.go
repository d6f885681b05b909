package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/gritvq/gritvq/internal/lowrank"
	"github.com/gritvq/gritvq/safetensors"
)

// textBuckets is a few times the words of a catalogue, so that few share one.
const textBuckets = 1 << 16

// TextEncoder embeds short texts such as titles by the words they share: hashed TF-IDF, reduced to few
// dimensions by a truncated singular value decomposition (latent semantic analysis). It knows only which words
// occur together in the texts it was fitted to. It needs no weights, but a sentence encoder is better.
type TextEncoder struct {
	dim     int
	columns map[uint32]int32 // of hashed words that occur
	rarity  []float32        // [columns] inverse document frequency
	axes    []float32        // [columns, dim] right singular vectors
}

// FitText fits an encoder with vectors of dim numbers, which depend on texts and dim alone; other processors
// may round differently. If the texts span fewer than dim dimensions, the rest is 0.
func FitText(texts []string, dim int) (*TextEncoder, error) {
	if len(texts) == 0 || dim < 1 {
		return nil, fmt.Errorf("text vectors need at least one text and one dimension, not %d and %d", len(texts), dim)
	}
	e := &TextEncoder{dim: dim, columns: map[uint32]int32{}}
	counts := make([][]term, len(texts))
	var documents []float64 // with the word, by column
	for i, text := range texts {
		counts[i] = e.terms(text, true)
		for _, t := range counts[i] {
			if int(t.column) == len(documents) {
				documents = append(documents, 0)
			}
			documents[t.column]++
		}
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("none of %d texts has a word to make vectors from", len(texts))
	}
	e.rarity = make([]float32, len(documents))
	for column, n := range documents {
		e.rarity[column] = float32(math.Log((1+float64(len(texts)))/(1+n)) + 1)
	}
	rows := make([][]lowrank.Entry, len(counts))
	for i, terms := range counts {
		e.weigh(terms)
		for _, t := range terms {
			rows[i] = append(rows[i], lowrank.Entry{Column: t.column, Value: float32(t.weight)})
		}
	}
	axes, _, err := lowrank.RightVectors(lowrank.NewSparse(len(documents), rows), dim)
	if err != nil {
		return nil, err
	}
	e.axes = make([]float32, len(axes))
	for i, x := range axes {
		e.axes[i] = float32(x)
	}
	return e, nil
}

// Dim is the length of a vector.
func (e *TextEncoder) Dim() int { return e.dim }

// Encode returns vectors [n, dim] of unit length. A text without any known word is 0.
func (e *TextEncoder) Encode(texts []string) []float32 {
	out := make([]float32, len(texts)*e.dim)
	point := make([]float64, e.dim)
	for i, text := range texts {
		terms := e.terms(text, false)
		e.weigh(terms)
		clear(point)
		for _, t := range terms {
			for j, axis := range e.axes[int(t.column)*e.dim : (int(t.column)+1)*e.dim] {
				point[j] += t.weight * float64(axis)
			}
		}
		squares := 0.0
		for _, x := range point {
			squares += x * x
		}
		if squares == 0 {
			continue
		}
		for j, x := range point {
			out[i*e.dim+j] = float32(x / math.Sqrt(squares))
		}
	}
	return out
}

type term struct {
	column int32
	weight float64
}

// terms counts the words of a text, by column. New words get a column if learn is set, and are skipped otherwise.
func (e *TextEncoder) terms(text string, learn bool) []term {
	var list []term
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		h := fnv.New64a()
		h.Write([]byte(word))
		sum := h.Sum64()
		bucket := uint32((sum ^ sum>>32) % textBuckets)
		column, known := e.columns[bucket]
		if !known {
			if !learn {
				continue
			}
			column = int32(len(e.columns))
			e.columns[bucket] = column
		}
		if at := slices.IndexFunc(list, func(t term) bool { return t.column == column }); at >= 0 {
			list[at].weight++
		} else {
			list = append(list, term{column, 1})
		}
	}
	return list
}

func (e *TextEncoder) weigh(terms []term) {
	squares := 0.0
	for i, t := range terms {
		w := (1 + math.Log(t.weight)) * float64(e.rarity[t.column])
		terms[i].weight = w
		squares += w * w
	}
	for i := range terms {
		terms[i].weight /= math.Sqrt(squares)
	}
}

// Save stores the encoder, to embed later texts in the same space, bit for bit.
func (e *TextEncoder) Save(path string) error {
	buckets := make([]int64, len(e.rarity))
	for bucket, column := range e.columns {
		buckets[column] = int64(bucket)
	}
	return safetensors.Write(path, []safetensors.Tensor{
		safetensors.FromFloat32("axes", []int{len(buckets), e.dim}, e.axes),
		safetensors.FromInt64("buckets", []int{len(buckets)}, buckets),
		safetensors.FromFloat32("rarity", []int{len(buckets)}, e.rarity),
	}, map[string]string{"format": "text encoder"})
}

// LoadText reads an encoder that Save stored.
func LoadText(path string) (*TextEncoder, error) {
	file, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	e, err := decodeText(file)
	if err != nil {
		return nil, fmt.Errorf("%s is no encoder of texts (%w); copy it again or build the IDs anew", path, err)
	}
	return e, nil
}

func decodeText(file *safetensors.File) (*TextEncoder, error) {
	axes, err1 := file.Get("axes")
	buckets, err2 := file.Get("buckets")
	rarity, err3 := file.Get("rarity")
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	shape := axes.Shape
	if len(shape) != 2 || shape[1] < 1 || !slices.Equal(buckets.Shape, shape[:1]) || !slices.Equal(rarity.Shape, shape[:1]) {
		return nil, errors.New("its shapes do not agree")
	}
	e := &TextEncoder{dim: shape[1], columns: map[uint32]int32{}}
	e.axes, err1 = axes.Float32()
	e.rarity, err2 = rarity.Float32()
	list, err3 := buckets.Int64()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	for column, bucket := range list {
		if bucket < 0 || bucket >= textBuckets {
			return nil, fmt.Errorf("word %d has bucket %d", column, bucket)
		}
		e.columns[uint32(bucket)] = int32(column)
	}
	if len(e.columns) != len(list) {
		return nil, errors.New("two words share a bucket")
	}
	return e, nil
}
