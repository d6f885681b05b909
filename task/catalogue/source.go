package catalogue

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
)

// Source names the files of a catalogue.
type Source struct {
	// Input is a file of embeddings, one row an item; a list of items, whose titles
	// are embedded then; or "synthetic:shop?...".
	Input string
	// Items is a list of the items in the order of the rows. If empty, a .parquet
	// file of embeddings may name them itself; else row numbers from 1 do.
	Items string
	// Name is the directory of the table among several catalogues. If empty it
	// follows from Input.
	Name string
}

// source is a catalogue that is being read.
type source struct {
	Source
	dir      string // of its table
	items    []interactions.Item
	vectors  string    // file of embeddings; "" if there are titles only
	values   []float32 // [items, dim] embeddings, once read
	numbered bool      // items are named by row numbers
}

// read finds the items and, unless titles are to be embedded, their embeddings.
func (s *source) read(ctx context.Context, watch task.Watcher) error {
	switch dataset.KindOf(s.Input) {
	case dataset.Items:
		if s.Items != "" {
			return usage.Errorf("%s names the items itself; leave --items out", s.Input)
		}
		return s.readItems(ctx, s.Input)
	case dataset.Shop:
		shop, err := interactions.OpenShop(s.Input)
		if err != nil {
			return err
		}
		s.items, s.vectors = shop.Catalogue.Items, filepath.Join(s.dir, shopVectors)
		return writeVectors(s.vectors, shop.Vectors, shop.Dim)
	}
	v, err := vectors.Open(ctx, s.Input, vectors.Options{})
	if errors.Is(err, vectors.ErrFormat) {
		return fmt.Errorf("%w, or titles in .jsonl, .csv, .tsv or .dat", err)
	}
	if err != nil {
		return err
	}
	defer v.Close()
	if err := checkFinite(ctx, v); err != nil {
		return err
	}
	s.vectors = s.Input
	if s.Items == "" {
		return s.nameRows(ctx, v.Len(), watch)
	}
	if err := s.readItems(ctx, s.Items); err != nil {
		return err
	}
	if len(s.items) != v.Len() {
		return fmt.Errorf("%s has %s, %s has %s; give one row an item",
			s.Items, report.Counted(len(s.items), "item"), s.Input, report.Counted(v.Len(), "row"))
	}
	return nil
}

func (s *source) readItems(ctx context.Context, path string) error {
	list, err := interactions.ReadItems(ctx, path)
	if err != nil {
		return err
	}
	s.items = list.Items
	return nil
}

// nameRows names the items of embeddings without a list: by a column of the same
// .parquet file, or by row numbers from 1.
func (s *source) nameRows(ctx context.Context, rows int, watch task.Watcher) error {
	if strings.EqualFold(filepath.Ext(s.Input), ".parquet") {
		err := s.readItems(ctx, s.Input)
		if err == nil {
			watch.Remark("%s names its items itself, such as %q; --items would name them otherwise", s.Input, s.items[0].ID)
			return nil
		}
		if !errors.Is(err, interactions.ErrUnnamed) {
			return fmt.Errorf("%w, or name the items with --items", err)
		}
	}
	s.items, s.numbered = make([]interactions.Item, rows), true
	s.number(1)
	return nil
}

// number names the items by consecutive numbers.
func (s *source) number(first int) {
	for i := range s.items {
		s.items[i].ID = strconv.Itoa(first + i)
	}
}

// checkFinite refuses embeddings with NaN or Inf. Training drops such rows, but
// here every row is an item and items are named by their order.
func checkFinite(ctx context.Context, v *vectors.Vectors) error {
	_, err := v.Scan(ctx, nil)
	if bad, ok := errors.AsType[*vectors.NonFiniteError](err); ok {
		return fmt.Errorf("row %d of %s holds NaN or Inf (%s), and every row is an item; embed it again, or leave the item out of all files",
			bad.Row, bad.Path, report.Counted(bad.Count, "such row"))
	}
	return err
}

// texts and keys return a field of every item.
func (s *source) texts() []string {
	return s.column(func(item interactions.Item) string { return item.Text })
}
func (s *source) keys() []string {
	return s.column(func(item interactions.Item) string { return item.ID })
}

func (s *source) column(field func(interactions.Item) string) []string {
	list := make([]string, len(s.items))
	for i, item := range s.items {
		list[i] = field(item)
	}
	return list
}

// embeddings returns the embeddings [items, dim].
func (s *source) embeddings(ctx context.Context, dim int) ([]float32, error) {
	if s.values != nil {
		return s.values, nil
	}
	v, err := vectors.Open(ctx, s.vectors, vectors.Options{})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if err := tokenize.CheckDimension(v, dim); err != nil {
		return nil, err
	}
	s.values, err = allRows(v)
	return s.values, err
}

func allRows(v *vectors.Vectors) ([]float32, error) {
	values := make([]float32, v.Len()*v.Dim())
	return values, v.Rows(0, v.Len(), values)
}
