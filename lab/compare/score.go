package compare

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/tokenizer"
)

// Speed is that of the fastest pass, after one block of warm-up.
const (
	speedRows   = 8 * tokenizer.BlockRows
	speedPasses = 3
)

type scorer struct {
	runtime   *tokenizer.Runtime
	dim       int
	spread    float64 // mean squared distance of a row from the mean, the unit of error bins
	bins      []int
	originals []float32 // of the first rows, held-out first: the database of recall
	decoded   []float32
}

func scoreVectors(ctx context.Context, s *subject, t trained, r *Record) error {
	c := &scorer{runtime: t.runtime, dim: t.source.Set.Input(), bins: make([]int, len(ErrorBins())+1)}
	for _, v := range t.source.Variance {
		c.spread += v
	}
	scores, held, err := t.runtime.Evaluate(ctx, t.source.HeldSet, t.source.Held, tokenizer.Options{}, c.judge)
	if err != nil {
		return err
	}
	all, err := countCodes(ctx, t.runtime, t.source.Set, t.source.Train, c.keepTrained)
	if err != nil {
		return err
	}
	if err := all.Merge(held); err != nil {
		return err
	}
	judged := scores.(*tokenizer.Scores)
	for name, x := range map[string]float64{"mse": judged.MSE, "relative_error": judged.RelativeError, "cosine": judged.Cosine} {
		if table.Finite(x) == nil {
			return errors.New("the error of the held-out rows is not finite: training diverged, or the rows do not vary")
		}
		r.Scores[name] = x
	}
	r.count(all)
	dead := 0
	for _, counts := range r.Usage {
		for _, n := range counts {
			if n == 0 {
				dead++
			}
		}
	}
	r.Scores["bits_per_vector"], r.Scores["dead_codes"] = judged.BitsPerVector, float64(dead)
	r.Scores["utilization"], r.Scores["perplexity"] = all.Mean().Utilization, all.Mean().Perplexity
	r.Scores["utilization_held"] = judged.Utilization.Mean
	r.Errors = c.bins
	if r.Scores["recall_at_10"], err = s.recall(t, c); err != nil {
		return err
	}
	s.timing.Lock()
	defer s.timing.Unlock()
	r.Scores["encode_rate"], r.Scores["decode_rate"], err = speed(ctx, t.runtime, s.source.Set)
	return err
}

// countCodes counts the codes of rows; visit may be nil.
func countCodes(ctx context.Context, r *tokenizer.Runtime, set dataset.Set, rows dataset.Selection,
	visit func(context.Context, tokenizer.Coded) error,
) (*eval.Usage, error) {
	usage, err := r.NewUsage(tokenizer.Options{})
	if err != nil {
		return nil, err
	}
	return usage, r.EncodeRows(ctx, set, rows, tokenizer.Options{}, func(b tokenizer.Coded) error {
		if err := r.Count(usage, b.Codes, r.Positions(tokenizer.Options{})); err != nil || visit == nil {
			return err
		}
		return visit(ctx, b)
	})
}

func (c *scorer) judge(b tokenizer.Coded) error {
	x, y := b.Items.Values, b.Decoded.Values
	for row := range b.Items.N {
		from, to := row*c.dim, (row+1)*c.dim
		c.bins[errorBin(index.SquaredDistance(x[from:to], y[from:to])/c.spread)]++
	}
	c.keep(x, y)
	return nil
}

// keepTrained decodes training rows for recall, if held-out rows are too few.
func (c *scorer) keepTrained(ctx context.Context, b tokenizer.Coded) error {
	if len(c.originals) >= databaseRows*c.dim {
		return nil
	}
	decoded, err := c.runtime.Decode(ctx, b.Codes, b.Items.N, len(b.Codes)/b.Items.N)
	if err == nil {
		c.keep(b.Items.Values, decoded.Values)
	}
	return err
}

func (c *scorer) keep(x, y []float32) {
	n := min(len(x), databaseRows*c.dim-len(c.originals))
	c.originals, c.decoded = append(c.originals, x[:n]...), append(c.decoded, y[:n]...)
}

// recall compares the neighbours of decoded vectors with the true ones, which all methods of a split share.
func (s *subject) recall(t trained, c *scorer) (float64, error) {
	queries := min(queryRows, t.source.Held.Len(), len(c.originals)/c.dim)
	s.search.Lock()
	defer s.search.Unlock()
	key := fmt.Sprint(t.cell.Config.Seed, t.cell.Config.Train.Split)
	if s.truth == nil {
		s.truth = map[string][][]int{}
	}
	if s.truth[key] == nil {
		truth, err := nearest(c.originals, queries, c.originals, c.dim, neighbourCount)
		if err != nil {
			return 0, err
		}
		s.truth[key] = truth
	}
	found, err := nearest(c.originals, queries, c.decoded, c.dim, neighbourCount)
	if err != nil {
		return 0, err
	}
	return recall(s.truth[key], found), nil
}

func speed(ctx context.Context, r *tokenizer.Runtime, set dataset.Set) (encode, decode float64, err error) {
	rows := make([]int, min(speedRows, set.Len()))
	for i := range rows {
		rows[i] = i
	}
	x, _, err := set.Read(rows)
	if err != nil {
		return 0, 0, err
	}
	var codes []uint32
	encode, err = fastest(len(rows), func(n int) (err error) {
		codes, err = r.Encode(ctx, dataset.VectorBatch(x.Values[:n*set.Input()], n), tokenizer.Options{})
		return err
	})
	if err == nil {
		positions := r.Positions(tokenizer.Options{})
		decode, err = fastest(len(rows), func(n int) error {
			_, err := r.Decode(ctx, codes[:n*positions], n, positions)
			return err
		})
	}
	if err != nil {
		return 0, 0, fmt.Errorf("measuring the speed: %w", err)
	}
	return encode, decode, nil
}

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
