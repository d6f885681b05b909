package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Rows read, encoded and decoded at a time.
const scoreRows = 4 * tokenizer.BlockRows

// Speed is measured on this many rows, after one block to warm up, as the
// fastest of so many passes.
const (
	speedRows   = 8 * tokenizer.BlockRows
	speedPasses = 3
)

// scorer measures a trained tokenizer on the rows of a source.
type scorer struct {
	runtime *tokenizer.Runtime
	source  vqtrain.Source
	spread  float64 // mean squared distance of a row from the mean, the unit of error bins

	held, file *eval.Usage
	errors     eval.Reconstruction
	bins       []int
	originals  []float32 // of the first rows, held-out first: what recall is measured on
	decoded    []float32
}

// databaseSize is the number of rows that recall searches.
func databaseSize(s vqtrain.Source) int { return min(databaseRows, s.Held.Len()+s.Train.Len()) }

// gather reads rows start..start+n of the searched order: held-out rows first,
// then those trained on.
func gather(s vqtrain.Source, start, n int, into []float32) error {
	dim, held := s.Set.Input(), s.Held.Len()
	read := func(v dataset.Set, of dataset.Selection, from, to int, into []float32) error {
		if to <= from {
			return nil
		}
		rows := make([]int, to-from)
		for i := range rows {
			rows[i] = of.At(from + i)
		}
		x, _, err := v.Read(rows)
		copy(into, x.Values)
		return err
	}
	split := min(max(held-start, 0), n) // held-out rows among them
	if err := read(s.HeldSet, s.Held, start, start+split, into[:split*dim]); err != nil {
		return err
	}
	return read(s.Set, s.Train, start+split-held, start+n-held, into[split*dim:n*dim])
}

// score runs every row of the file through the tokenizer. Held-out rows are
// decoded and judged; of the others only the codes count, and the
// reconstructions that recall searches.
func (s *scorer) score(ctx context.Context) error {
	layout := s.runtime.Tokenizer().Quantizer.Layout()
	var err error
	if s.held, err = eval.NewUsage(layout.Vocab); err != nil {
		return err
	}
	if s.file, err = eval.NewUsage(layout.Vocab); err != nil {
		return err
	}
	s.bins = make([]int, len(ErrorBins())+1)
	held, all := s.source.Held.Len(), s.source.Held.Len()+s.source.Train.Len()
	dim := s.source.Set.Input()
	buffer := make([]float32, scoreRows*dim)
	for start := 0; start < all; {
		n := min(scoreRows, all-start)
		if start < held {
			n = min(n, held-start) // a block is held out or not
		}
		x := buffer[:n*dim]
		if err := gather(s.source, start, n, x); err != nil {
			return err
		}
		codes, err := s.runtime.Encode(ctx, dataset.VectorBatch(x, n), tokenizer.Options{})
		if err != nil {
			return err
		}
		usage := s.file
		if start < held {
			usage = s.held
		}
		if err := usage.Add(codes, layout.Positions()); err != nil {
			return err
		}
		if err := s.reconstruct(ctx, start, x, codes); err != nil {
			return err
		}
		start += n
	}
	return s.file.Merge(s.held)
}

// reconstruct decodes a block if anything needs it.
func (s *scorer) reconstruct(ctx context.Context, start int, x []float32, codes []uint32) error {
	dim, held, wanted := s.source.Set.Input(), s.source.Held.Len(), databaseSize(s.source)
	if start >= held && start >= wanted {
		return nil
	}
	n := len(x) / dim
	back, err := s.runtime.Decode(ctx, codes, n, len(codes)/n)
	if err != nil {
		return err
	}
	y := back.Values
	if keep := min(n, wanted-start); keep > 0 {
		s.originals = append(s.originals, x[:keep*dim]...)
		s.decoded = append(s.decoded, y[:keep*dim]...)
	}
	if start >= held {
		return nil
	}
	for row := range n {
		sum := 0.0
		for i, v := range x[row*dim : (row+1)*dim] {
			gap := float64(v) - float64(y[row*dim+i])
			sum += gap * gap
		}
		s.bins[errorBin(sum/s.spread)]++
	}
	return s.errors.Add(x, y, dim)
}

// scores summarises what was measured; truth holds the neighbours of the
// original rows.
func (s *scorer) scores(truth [][]int, into table.Scores) error {
	errs := map[string]float64{"mse": s.errors.MSE(), "relative_error": s.errors.RelativeError(), "cosine": s.errors.Cosine()}
	for name, x := range errs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return errors.New("the error of the held-out rows is not finite: training diverged, or the rows do not vary")
		}
		into[name] = x
	}
	into["utilization"], into["perplexity"] = s.file.Mean().Utilization, s.file.Mean().Perplexity
	into["utilization_held"] = s.held.Mean().Utilization
	bits, dead := 0.0, 0.0
	for position, k := range s.file.Vocab() {
		bits += math.Log2(float64(k))
		for _, count := range s.file.Histogram(position) {
			if count == 0 {
				dead++
			}
		}
	}
	into["bits_per_vector"], into["dead_codes"] = bits, dead
	into["recall_at_10"] = Recall(truth, Nearest(s.originals, len(truth), s.decoded, s.source.Set.Input(), Neighbours))
	return nil
}

// neighbours are the true nearest rows of the recall queries, the same for every
// method of a split.
func neighbours(s vqtrain.Source) ([][]int, error) {
	dim, n := s.Set.Input(), databaseSize(s)
	x := make([]float32, n*dim)
	if err := gather(s, 0, n, x); err != nil {
		return nil, err
	}
	return Nearest(x, min(queryRows, s.Held.Len(), n), x, dim, Neighbours), nil
}

// speed measures how many vectors a second are encoded and decoded.
func speed(ctx context.Context, r *tokenizer.Runtime, set dataset.Set) (encode, decode float64, err error) {
	rows := make([]int, min(speedRows, set.Len()))
	for i := range rows {
		rows[i] = i
	}
	x, _, err := set.Read(rows)
	if err != nil {
		return 0, 0, err
	}
	n, dim := x.N, set.Input()
	var codes []uint32
	encodes := func(n int) (err error) {
		codes, err = r.Encode(ctx, dataset.VectorBatch(x.Values[:n*dim], n), tokenizer.Options{})
		return err
	}
	decodes := func(n int) error {
		positions := r.Positions(tokenizer.Options{})
		_, err := r.Decode(ctx, codes[:n*positions], n, positions)
		return err
	}
	if encode, err = fastest(n, encodes); err != nil {
		return 0, 0, fmt.Errorf("measuring the speed: %w", err)
	}
	if decode, err = fastest(n, decodes); err != nil {
		return 0, 0, fmt.Errorf("measuring the speed: %w", err)
	}
	return encode, decode, nil
}

// fastest is the rate of the fastest pass over n rows.
func fastest(n int, pass func(n int) error) (rate float64, err error) {
	if err := pass(min(n, tokenizer.BlockRows)); err != nil {
		return 0, err
	}
	for range speedPasses {
		begun := time.Now()
		if err := pass(n); err != nil {
			return 0, err
		}
		rate = max(rate, float64(n)/max(time.Since(begun).Seconds(), 1e-9))
	}
	return rate, nil
}
