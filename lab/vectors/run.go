// Package vectors compares quantizers of vectors at equal bits on held-out rows: ours, and
// FAISS's as references.
package vectors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
)

// Options choose the cells of the comparison.
type Options struct {
	Data    string // directory of the data sets
	Sets    []string
	Methods []string
	Sizes   []string // LEVELSxCODES
	Seeds   int      // 0: only the page is made again
	First   uint64   // of the seeds; 0 is 1
	Limit   time.Duration
	Python  string // interpreter that has FAISS
	Output  string // directory of the page and its records
	Command string
}

// Run measures the cells that have no record yet and writes the page.
func Run(ctx context.Context, o Options, watch task.Watcher) error {
	page, err := openPage(o.Output)
	if err != nil {
		return err
	}
	records, err := table.ReadLines[Record](page.Path(".jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b := &bench{Options: o, watch: watch, records: records, store: page.Path(".jsonl")}
	if err := b.run(ctx); err != nil {
		return err
	}
	return write(page, b.records)
}

type bench struct {
	Options
	watch   task.Watcher
	records []Record
	store   string
}

func (b *bench) run(ctx context.Context) error {
	for i := range uint64(b.Seeds) {
		seed := i + max(1, b.First)
		for _, name := range b.Sets {
			from, err := sourceNamed(name)
			if err != nil {
				return err
			}
			cells, err := b.missing(name, seed)
			if err != nil || len(cells) == 0 {
				if err != nil {
					return err
				}
				continue
			}
			data, err := from.open(ctx, b.Data)
			if err != nil {
				b.watch.Remark("%s is left out: %v", name, err)
				continue
			}
			if err := b.measureAll(ctx, data, cells); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing lists the cells of a set without a successful record.
func (b *bench) missing(set string, seed uint64) ([]Record, error) {
	var cells []Record
	for _, size := range b.Sizes {
		for _, method := range b.Methods {
			r := Record{Set: set, Method: method, Seed: seed}
			if n, _ := fmt.Sscanf(size, "%dx%d", &r.Levels, &r.Codes); n != 2 {
				return nil, fmt.Errorf("size %q: write levels x codes, such as 4x256", size)
			}
			if !slices.ContainsFunc(b.records, func(other Record) bool { return other.Cell() == r.Cell() && other.Failed == "" }) {
				cells = append(cells, r)
			}
		}
	}
	return cells, nil
}

// measureAll measures cells of one data set, and stores each record at once.
func (b *bench) measureAll(ctx context.Context, data split, cells []Record) error {
	dir, err := os.MkdirTemp("", "gritvq-vectors-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for file, rows := range map[string][]float32{"train.npy": data.train, "test.npy": data.test} {
		if err := vectors.Write(filepath.Join(dir, file), data.dim, rows); err != nil {
			return err
		}
	}
	for _, r := range cells {
		r.Command, r.Commit, r.Hardware = b.Command, table.Commit(ctx), table.Hardware()
		r.Date = time.Now().UTC().Format(time.DateOnly)
		limited, cancel := context.WithTimeout(ctx, cmp.Or(b.Limit, time.Hour))
		errors, err := b.measure(limited, dir, data, &r)
		over := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case over:
			r.Failed = fmt.Sprintf("not done after %s", b.Limit)
		case err != nil:
			r.Failed, _, _ = strings.Cut(err.Error(), "\n")
		default:
			r.score(data, errors)
		}
		b.watch.Remark("%s: error %.4f in %s%s", r.Cell(), r.Error, table.Seconds(r.Seconds), r.Failed)
		b.records = slices.DeleteFunc(b.records, func(other Record) bool { return other.Cell() == r.Cell() })
		b.records = append(b.records, r)
		if err := atomicfile.WriteJSON(b.store, "", b.records...); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the squared error of every test row.
func (b *bench) measure(ctx context.Context, dir string, data split, r *Record) ([]float32, error) {
	if slices.Contains(faissMethods, r.Method) {
		return b.measureFAISS(ctx, dir, r)
	}
	return measureOwn(ctx, dir, data, r)
}
