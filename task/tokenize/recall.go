package tokenize

import (
	"context"
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/tokenizer"
)

// recallQueries is the largest number of rows used as queries.
const recallQueries = 1000

// recallSet divides the rows of a set into queries and the rows to search.
type recallSet struct {
	set           dataset.Set
	queries, rows []int // ascending
	codes         []uint32
}

// newRecallSet takes a fifth of the rows, at most recallQueries, as queries, by chance but
// the same every time.
func newRecallSet(set dataset.Set, k int) (*recallSet, error) {
	n := set.Len()
	count := min(recallQueries, n/5)
	if count < 1 || k > n-count {
		return nil, usage.Errorf("--recall %d: a fifth of the %s of %s are queries, and the others must be at least %d; give more rows",
			k, report.Counted(n, "row"), set.Path(), k)
	}
	r := &recallSet{set: set}
	order := dataset.NewPermutation(n, 0)
	for i := range count {
		r.queries = append(r.queries, order.At(i))
	}
	slices.Sort(r.queries)
	for i := range n {
		if _, query := slices.BinarySearch(r.queries, i); !query {
			r.rows = append(r.rows, i)
		}
	}
	return r, nil
}

// add keeps the codes of the rows to search. Batches come in order.
func (r *recallSet) add(c tokenizer.Coded) {
	positions := len(c.Codes) / max(1, len(c.Rows))
	for i, row := range c.Rows {
		if _, query := slices.BinarySearch(r.queries, row); !query {
			r.codes = append(r.codes, c.Codes[i*positions:(i+1)*positions]...)
		}
	}
}

// recallDepth is how many times k candidates are ranked by the vectors themselves.
const recallDepth = 10

// measure compares a search through the codes with one through the vectors.
func (r *recallSet) measure(ctx context.Context, t *Opened, k, workers int, watch task.Watcher) (*tokenizer.Recall, error) {
	queries, rows, d := len(r.queries), len(r.rows), r.set.Input()
	x, err := r.read(r.queries)
	if err != nil {
		return nil, err
	}
	line := watch.Line(rows, "rows")
	defer line.Done()
	exact, gaps := make([]uint32, queries*k), make([]float32, queries*k)
	read := func(start, count int, into []float32) error {
		values, err := r.read(r.rows[start : start+count])
		copy(into, values)
		return err
	}
	err = index.SearchBlocks(ctx, rows, d, read, x, queries, k, exact, gaps, index.SearchOptions{Workers: workers}, func(done int) {
		line.Update(int64(done), "compared")
	})
	if err != nil {
		return nil, err
	}
	coded, err := t.Runtime.NewCodedRows(len(r.codes) / rows)
	if err != nil {
		return nil, err
	}
	if err := coded.Add(r.codes); err != nil {
		return nil, err
	}
	candidates := min(rows, recallDepth*k)
	found, gaps := make([]uint32, queries*candidates), make([]float32, queries*candidates)
	if err := coded.Search(ctx, x, queries, candidates, found, gaps, workers, nil); err != nil {
		return nil, err
	}
	score := &tokenizer.Recall{K: k, Queries: queries, Rows: rows, Candidates: candidates}
	for q := range queries {
		want, got := exact[q*k:(q+1)*k], found[q*candidates:(q+1)*candidates]
		for _, item := range want {
			switch at := slices.Index(got, item); {
			case at < 0:
			case at < k:
				score.Recall++
				score.Reranked++
			default:
				score.Reranked++
			}
		}
		if slices.Contains(got[:k], want[0]) {
			score.First++
		}
	}
	score.Recall /= float64(queries * k)
	score.Reranked /= float64(queries * k)
	score.First /= float64(queries)
	return score, nil
}

func (r *recallSet) read(rows []int) ([]float32, error) {
	items, _, err := r.set.Read(rows)
	return items.Values, err
}

func recallRows(r *tokenizer.Recall) [][]report.Cell {
	add := func(name string, value float64) []report.Cell { return report.Cells(name, report.Number(value, 4)) }
	return [][]report.Cell{
		add(fmt.Sprintf("recall@%d of a search through codes", r.K), r.Recall),
		add(fmt.Sprintf("nearest row among the %d", r.K), r.First),
		add(fmt.Sprintf("recall@%d, %d candidates ranked by their vectors", r.K, r.Candidates), r.Reranked),
	}
}
