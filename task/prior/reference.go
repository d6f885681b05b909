package prior

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/task/prior/gpt"
)

// Reference is what classical models of the training codes know.
type Reference struct {
	Counts    [][]int64    // [levels][codes] how often a code occurs
	Neighbour *codes.Model // predicts codes from their neighbours; nil if there are too many codes for it
}

// fitReference learns from rows of grids of the given height and width. vectors are
// those of the codes of every level (see [codes.Train]); without any, codes of a
// similar frequency count as similar.
func fitReference(ctx context.Context, l gpt.Layout, rows Rows, height, width int, vectors [][]float32) (*Reference, error) {
	r := &Reference{Counts: make([][]int64, l.Levels())}
	for level, k := range l.Vocab {
		r.Counts[level] = make([]int64, k)
	}
	for i, code := range rows.Codes {
		r.Counts[i%l.Levels()][code]++
	}
	vocab := make([]uint32, l.Levels())
	for level, k := range l.Vocab {
		if vocab[level] = uint32(k); k > codes.MaxPictureVocab || l.Levels() > codes.MaxPictureLevels {
			return r, nil
		}
	}
	if vectors == nil {
		for _, counts := range r.Counts {
			frequencies := make([]float32, len(counts))
			for code, n := range counts {
				frequencies[code] = float32(math.Log1p(float64(n)))
			}
			vectors = append(vectors, frequencies)
		}
	}
	var grids []codes.CodeMap
	for i := range rows.Len() {
		grids = append(grids, codes.CodeMap{Height: height, Width: width, Codes: rows.codes(i, l)})
	}
	var err error
	if r.Neighbour, err = codes.Train(ctx, grids, vocab, vectors); err != nil {
		return nil, fmt.Errorf("fitting the neighbour model: %w", err)
	}
	return r, nil
}

// bits measures both models on rows.
func (r *Reference) bits(ctx context.Context, l gpt.Layout, rows Rows, height, width int) (ReferenceBits, error) {
	tokens := float64(len(rows.Codes))
	result := ReferenceBits{Neighbour: math.NaN()}
	totals := make([]float64, l.Levels()) // with one more of every code: none is impossible
	for level, counts := range r.Counts {
		totals[level] = float64(len(counts))
		for _, n := range counts {
			totals[level] += float64(n)
		}
	}
	for i, code := range rows.Codes {
		level := i % l.Levels()
		result.Unigram += math.Log2(totals[level]/float64(r.Counts[level][code]+1)) / tokens
	}
	if r.Neighbour == nil {
		return result, nil
	}
	sum := 0
	for i := range rows.Len() {
		if err := ctx.Err(); err != nil {
			return result, err
		}
		picture := codes.Picture{Width: width, Height: height, Factor: 1, Vocab: r.Neighbour.Vocab(), Codes: rows.codes(i, l)}
		size, err := codes.Encode(io.Discard, picture, r.Neighbour)
		if err != nil {
			return result, fmt.Errorf("measuring the neighbour model: %w", err)
		}
		for _, level := range size.Levels {
			sum += level.Bits
		}
	}
	result.Neighbour = float64(sum) / tokens
	return result, nil
}

const (
	countsPrefix    = "counts/level"
	neighbourPrefix = "neighbour/"
)

func (r *Reference) write(path string) error {
	var list []safetensors.Tensor
	for level, counts := range r.Counts {
		list = append(list, safetensors.FromInt64(fmt.Sprintf("%s%d", countsPrefix, level), []int{len(counts)}, counts))
	}
	if r.Neighbour != nil {
		for _, t := range r.Neighbour.Tensors() {
			t.Name = neighbourPrefix + t.Name
			list = append(list, t)
		}
	}
	return safetensors.Write(path, list, nil)
}

func readReference(path string, vocab []int) (*Reference, error) {
	file, err := safetensors.Read(path)
	if err != nil {
		return nil, err
	}
	r := &Reference{Counts: make([][]int64, len(vocab))}
	var neighbour []safetensors.Tensor
	for _, t := range file.Tensors {
		if name, ok := strings.CutPrefix(t.Name, neighbourPrefix); ok {
			t.Name = name
			neighbour = append(neighbour, t)
			continue
		}
		level := -1
		if _, err := fmt.Sscanf(t.Name, countsPrefix+"%d", &level); err != nil || level < 0 || level >= len(vocab) {
			return nil, fmt.Errorf("it holds %q, which no reference has", t.Name)
		}
		if r.Counts[level], err = t.Int64(); err != nil {
			return nil, err
		}
	}
	for level, k := range vocab {
		if len(r.Counts[level]) != k {
			return nil, fmt.Errorf("it has %d counts for the %d codes of level %d", len(r.Counts[level]), k, level)
		}
	}
	if neighbour != nil {
		r.Neighbour, err = codes.NewModel(neighbour)
	}
	return r, err
}
