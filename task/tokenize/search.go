package tokenize

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/tokenizer"
)

// SearchOptions name rows stored as codes and the vectors whose nearest rows are wanted.
type SearchOptions struct {
	Dir     string // of the tokenizer
	Codes   string // a row each, made by the tokenizer
	Queries string // vectors
	Output  string // .npy, .jsonl or .parquet; empty: none
	K       int    // rows for every query
	// Originals are the vectors behind the codes, in the same order. If given, the
	// Candidates rows nearest by codes are ranked by them.
	Originals  string
	Candidates int    // 0 is 10 times K
	Backend    string // see [engine.Choose]
	Workers    int    // host threads; 0 is all cores
	Force      bool   // search a .gvq file of another tokenizer
}

// Found is the result of a search.
type Found struct {
	Output  string  `json:"output,omitempty"`
	Rows    int     `json:"rows"`
	Queries int     `json:"queries"`
	K       int     `json:"k"`
	Tables  bool    `json:"tables"` // by look-up tables, without decoding all rows
	Seconds float64 `json:"seconds"`
	// Neighbours are nil if they went into a file.
	Neighbours []Neighbours `json:"neighbours,omitempty"`
}

// Neighbours are the nearest rows of one query, numbered from 0, and their squared
// Euclidean distances.
type Neighbours struct {
	Query     int       `json:"query"`
	Rows      []uint32  `json:"rows"`
	Distances []float32 `json:"distances"`
}

// String describes the written file.
func (f *Found) String() string {
	return fmt.Sprintf("%s: the nearest %s of %s for %s", f.Output, report.Count(f.K), report.Counted(f.Rows, "row"),
		report.Counted(f.Queries, "query vector"))
}

// searchBatch is the number of queries searched together.
const searchBatch = 4096

// Search finds the nearest rows of a file of codes.
func Search(ctx context.Context, o SearchOptions, watch task.Watcher) (*Found, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	t, err := Open(o.Dir, o.Backend)
	if err != nil {
		return nil, err
	}
	if t.pictures() {
		return nil, fmt.Errorf("%s is a tokenizer of pictures; search is for codes of vectors", o.Dir)
	}
	rows, err := o.load(ctx, t, watch)
	if err != nil {
		return nil, err
	}
	queries, err := openQueries(ctx, t, o.Queries, watch)
	if err != nil {
		return nil, err
	}
	defer queries.Close()
	var originals dataset.Set
	if o.Originals != "" {
		if originals, err = o.openOriginals(ctx, t, rows.Len(), watch); err != nil {
			return nil, err
		}
		defer originals.Close()
	}
	if o.K > rows.Len() {
		return nil, usage.Errorf("-k %d is more than the %s of %s", o.K, report.Counted(rows.Len(), "row"), o.Codes)
	}
	f := &Found{Output: o.Output, Rows: rows.Len(), Queries: queries.Len(), K: o.K, Tables: rows.Tables()}
	if !f.Tables {
		watch.Remark("codes of this tokenizer have no look-up tables: their rows are decoded and compared one by one")
	}
	if n := rows.Candidates(o.K); n > 0 {
		watch.Remark("the %s with the nearest sums of codes are ranked by their refined vectors", report.Counted(n, "row"))
	}
	w, err := createNeighbours(o.Output, f)
	if err != nil {
		return nil, err
	}
	defer w.Abort()
	if err := o.search(ctx, rows, queries, originals, f, w, watch); err != nil {
		return nil, err
	}
	return f, w.Commit()
}

func (o SearchOptions) check() error {
	switch {
	case o.K < 1:
		return usage.Errorf("-k %d must be at least 1", o.K)
	case o.Candidates < 0 || o.Candidates > 0 && o.Candidates < o.K:
		return usage.Errorf("--candidates %d must be at least -k, %d", o.Candidates, o.K)
	case o.Candidates > 0 && o.Originals == "":
		return usage.Errorf("--candidates needs --vectors, which rank them")
	case o.Output == "":
		return nil
	}
	for _, input := range []string{o.Codes, o.Queries, o.Originals} {
		if err := output.Check(input, o.Output); err != nil {
			return err
		}
	}
	return checkNeighbours(o.Output)
}

// load reads all codes.
func (o SearchOptions) load(ctx context.Context, t *Opened, watch task.Watcher) (*tokenizer.CodedRows, error) {
	in, err := DecodeOptions{Input: o.Codes, Force: o.Force}.openCodes(t)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if err := memory.Check(fmt.Sprintf("%d rows of %d codes", in.Len(), in.Levels()), in.Len(), in.Levels(), 4); err != nil {
		return nil, err
	}
	rows, err := t.Runtime.NewCodedRows(in.Levels())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Codes, err)
	}
	line := watch.Line(in.Len(), "rows")
	defer line.Done()
	return rows, o.addRows(ctx, t, in, rows, line)
}

func (o SearchOptions) addRows(ctx context.Context, t *Opened, in *codes.File, rows *tokenizer.CodedRows, line task.Line) error {
	const block = 1 << 16
	vocab := t.Bundle.Tokenizer.Quantizer.Layout().VocabOf(in.Levels() / t.Bundle.Manifest.Layout.Parts)
	buffer := make([]uint32, min(block, in.Len())*in.Levels())
	for start := 0; start < in.Len(); start += block {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(block, in.Len()-start)
		part := buffer[:n*in.Levels()]
		if err := in.Rows(start, n, part); err != nil {
			return err
		}
		if err := (DecodeOptions{Input: o.Codes}).checkCodes(part, vocab, start); err != nil {
			return err
		}
		if err := rows.Add(part); err != nil {
			return fmt.Errorf("%s: %w", o.Codes, err)
		}
		line.Update(int64(start+n), "loaded")
	}
	return nil
}

func openQueries(ctx context.Context, t *Opened, path string, watch task.Watcher) (dataset.Set, error) {
	if dataset.KindOf(path).IsPictures() {
		return nil, fmt.Errorf("%s holds pictures, and queries are vectors", path)
	}
	set, _, err := openSet(ctx, path, t.Bundle.Tokenizer.Spec.Model, false, 0, watch)
	if err != nil {
		return nil, err
	}
	if err := CheckDimension(set, t.Bundle.Manifest.Input); err != nil {
		set.Close()
		return nil, err
	}
	return finite{set, "clean the file"}, nil
}

func (o SearchOptions) openOriginals(ctx context.Context, t *Opened, rows int, watch task.Watcher) (dataset.Set, error) {
	set, err := openQueries(ctx, t, o.Originals, watch)
	if err != nil {
		return nil, err
	}
	if set.Len() != rows {
		set.Close()
		return nil, fmt.Errorf("%s has %s, %s has %s; give the vectors that were encoded, in the same order",
			o.Originals, report.Counted(set.Len(), "row"), o.Codes, report.Counted(rows, "row"))
	}
	return set, nil
}

// search passes the queries through in batches.
func (o SearchOptions) search(ctx context.Context, rows *tokenizer.CodedRows, queries, originals dataset.Set, f *Found,
	w neighbourWriter, watch task.Watcher) error {
	wanted := o.K
	if originals != nil {
		wanted = min(rows.Len(), cmp.Or(o.Candidates, 10*o.K))
	}
	line := watch.Line(queries.Len(), "queries")
	defer line.Done()
	for start := 0; start < queries.Len(); start += searchBatch {
		n := min(searchBatch, queries.Len()-start)
		x, err := readRows(queries, start, n)
		if err != nil {
			return err
		}
		began := time.Now()
		items, distances := make([]uint32, n*wanted), make([]float32, n*wanted)
		err = rows.Search(ctx, x, n, wanted, items, distances, o.Workers, func(done int) {
			line.Status(fmt.Sprintf("compared with %s", report.Counted(done, "row")))
		})
		if err != nil {
			return err
		}
		if originals != nil {
			if items, distances, err = rankByOriginals(originals, x, n, items, o.K, o.Workers); err != nil {
				return err
			}
		}
		f.Seconds += time.Since(began).Seconds()
		if err := w.write(start, items, distances); err != nil {
			return err
		}
		line.Update(int64(start+n), "searched")
	}
	return nil
}

func readRows(set dataset.Set, start, n int) ([]float32, error) {
	chosen := make([]int, n)
	for i := range chosen {
		chosen[i] = start + i
	}
	items, _, err := set.Read(chosen)
	return items.Values, err
}

// rankByOriginals keeps the k of the rows items [n,candidates] whose originals are nearest.
func rankByOriginals(originals dataset.Set, x []float32, n int, items []uint32, k, workers int) ([]uint32, []float32, error) {
	d, candidates := originals.Input(), len(items)/n
	kept, distances := make([]uint32, n*k), make([]float32, n*k)
	err := parallel.Each(n, workers, func(q int) error {
		chosen := make([]int, candidates)
		for i, item := range items[q*candidates : (q+1)*candidates] {
			chosen[i] = int(item)
		}
		slices.Sort(chosen) // in the order of the file
		rows, _, err := originals.Read(chosen)
		if err != nil {
			return err
		}
		type ranked struct {
			item     int
			distance float64
		}
		list := make([]ranked, candidates)
		for i, item := range chosen {
			list[i] = ranked{item, index.SquaredDistance(x[q*d:(q+1)*d], rows.Values[i*d:(i+1)*d])}
		}
		slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(a.distance, b.distance) })
		for i, r := range list[:k] {
			kept[q*k+i], distances[q*k+i] = uint32(r.item), float32(r.distance)
		}
		return nil
	})
	return kept, distances, err
}
