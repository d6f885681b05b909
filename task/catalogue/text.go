package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gritvq/gritvq/internal/lowrank"
	"github.com/gritvq/gritvq/safetensors"
)

// Weights of terms, beside the rarity of their use. They were compared on Amazon Beauty and MovieLens-1M, by the share of
// validation items among the nearest to a user's last items.
const (
	runLength    = 4   // letters, with a mark at both ends of a word
	runWeight    = 0.3 // words matter more than runs of their letters, which endings and misspellings share
	rareRun      = 3   // runs in fewer texts are left out
	numberWeight = 0.1 // years, sizes and part numbers would group items that have nothing else in common
	leastRarity  = 0.1 // of a word that all texts have
)

// Buckets of hashed terms: a few times the terms of a catalogue, so that few share one.
const (
	termBuckets = 1 << 20
	wordBuckets = 1 << 16 // of encoders that know no runs
)

// TextEncoder embeds short texts such as titles by what they share: words, runs of letters and, at little weight, numbers
// (hashed TF-IDF), reduced to few dimensions by a truncated singular value decomposition (latent semantic analysis). It
// knows only which of them occur together in the texts it was fitted to. It needs no weights, but a sentence encoder is
// better.
type TextEncoder struct {
	dim     int
	buckets uint64           // of terms; wordBuckets for encoders of earlier versions, which know words alone
	columns map[uint32]int32 // of hashed words that occur
	rarity  []float32        // [columns] inverse document frequency, less for numbers and runs of letters
	axes    []float32        // [columns, dim] right singular vectors
}

// FitText fits an encoder with vectors of dim numbers, which depend on texts and dim alone; other processors
// may round differently. If the texts span fewer than dim dimensions, the rest is 0.
func FitText(texts []string, dim int) (*TextEncoder, error) {
	if len(texts) == 0 || dim < 1 {
		return nil, fmt.Errorf("text vectors need at least one text and one dimension, not %d and %d", len(texts), dim)
	}
	e := &TextEncoder{dim: dim, buckets: termBuckets, columns: map[uint32]int32{}}
	counts := e.learn(texts)
	if len(e.rarity) == 0 {
		return nil, fmt.Errorf("none of %d texts has a word to make vectors from", len(texts))
	}
	rows := make([][]lowrank.Entry, len(counts))
	for i, terms := range counts {
		e.weigh(terms)
		for _, t := range terms {
			rows[i] = append(rows[i], lowrank.Entry{Column: t.column, Value: float32(t.weight)})
		}
	}
	axes, _, err := lowrank.RightVectors(lowrank.NewSparse(len(e.rarity), rows), dim)
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
		terms := e.terms(text)
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

// learn gives a column to every word of texts and to every run of letters in several of them.
func (e *TextEncoder) learn(texts []string) (counts [][]term) {
	documents, kinds := map[uint32]float64{}, map[uint32]termKind{}
	for _, text := range texts {
		for bucket, u := range e.split(text) {
			documents[bucket]++
			kinds[bucket] = u.kind
		}
	}
	for _, bucket := range slices.Sorted(maps.Keys(documents)) {
		n, kind := documents[bucket], kinds[bucket]
		if kind == run && n < rareRun {
			continue
		}
		rarity := math.Log((1+float64(len(texts)))/(1+n)) + leastRarity
		switch kind {
		case run:
			rarity *= runWeight
		case number:
			rarity *= numberWeight
		}
		e.columns[bucket] = int32(len(e.rarity))
		e.rarity = append(e.rarity, float32(rarity))
	}
	for _, text := range texts {
		counts = append(counts, e.terms(text))
	}
	return counts
}

type term struct {
	column int32
	weight float64
}

type termKind byte

const (
	word termKind = iota
	number
	run // of letters
)

// use is how often a text has a term.
type use struct {
	kind  termKind
	count float64
}

// terms counts the known words and runs of a text, by column.
func (e *TextEncoder) terms(text string) []term {
	var list []term
	for bucket, u := range e.split(text) {
		if column, known := e.columns[bucket]; known {
			list = append(list, term{column, u.count})
		}
	}
	slices.SortFunc(list, func(a, b term) int { return cmp.Compare(a.column, b.column) })
	return list
}

// split finds the terms of a text, by bucket.
func (e *TextEncoder) split(text string) map[uint32]use {
	uses := map[uint32]use{}
	wordsAlone := e.buckets == wordBuckets
	add := func(kind termKind, name string) {
		h := fnv.New64a()
		if !wordsAlone {
			h.Write([]byte{byte(kind)})
		}
		h.Write([]byte(name))
		sum := h.Sum64()
		bucket := uint32((sum ^ sum>>32) % e.buckets)
		uses[bucket] = use{kind, uses[bucket].count + 1}
	}
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.ContainsFunc(w, unicode.IsDigit) && !wordsAlone {
			add(number, w)
			continue
		}
		add(word, w)
		if wordsAlone {
			continue
		}
		letters := []rune("^" + w + "$")
		for i := range max(0, len(letters)-runLength+1) {
			add(run, string(letters[i:i+runLength]))
		}
	}
	return uses
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
	return safetensors.WriteSealed(path, []safetensors.Tensor{
		safetensors.FromFloat32("axes", []int{len(buckets), e.dim}, e.axes),
		safetensors.FromInt64("buckets", []int{len(buckets)}, buckets),
		safetensors.FromFloat32("rarity", []int{len(buckets)}, e.rarity),
	}, map[string]string{"format": "text encoder", bucketsKey: strconv.FormatUint(e.buckets, 10)}, nil)
}

// bucketsKey is not in files of earlier versions.
const bucketsKey = "buckets"

// LoadText reads an encoder that Save stored.
func LoadText(path string) (*TextEncoder, error) {
	file, err := safetensors.Read(path)
	if err == nil && len(file.Tensors) > 3 { // those of earlier versions have no checksum
		file, err = safetensors.ReadSealed(path)
	}
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
	e := &TextEncoder{dim: shape[1], buckets: wordBuckets, columns: map[uint32]int32{}}
	if text, ok := file.Metadata[bucketsKey]; ok {
		if e.buckets, err1 = strconv.ParseUint(text, 10, 32); err1 != nil || e.buckets != wordBuckets && e.buckets != termBuckets {
			return nil, fmt.Errorf("it has %q buckets", text)
		}
	}
	e.axes, err1 = axes.Float32()
	e.rarity, err2 = rarity.Float32()
	list, err3 := buckets.Int64()
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	for column, bucket := range list {
		if bucket < 0 || uint64(bucket) >= e.buckets {
			return nil, fmt.Errorf("word %d has bucket %d", column, bucket)
		}
		e.columns[uint32(bucket)] = int32(column)
	}
	if len(e.columns) != len(list) {
		return nil, errors.New("two words share a bucket")
	}
	return e, nil
}
