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
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// Source names the files of a catalogue.
type Source struct {
	// Input is a file of embeddings, one row an item; a list of items, whose titles
	// are embedded then; or "synthetic:shop?...".
	Input string
	// Columns chooses the columns of a table of items.
	Columns interactions.ItemColumns
	// Items is a list of the items in the order of the rows. If empty, a .parquet
	// file of embeddings may name them itself; else row numbers from 1 do.
	Items string
	// Name is the directory of the table among several catalogues. If empty it follows from Input.
	Name string
	// Log says who took what: items that are taken together get similar vectors. Without an Input it names the items too.
	Log LogFile
}

type source struct {
	Source
	dir      string // of its table; "" if its embeddings need no file
	items    []interactions.Item
	vectors  string    // file of embeddings; "" if there are titles only
	values   []float32 // [items, dim] its content
	dim      int
	numbered bool // items are named by row numbers
	log      *interactions.Log
	taken    *Cooccurrence // what the vectors have from the log, if there is one
	factors  int           // dimensions of the vectors that come from the log
}

func (s *source) read(ctx context.Context, watch task.Watcher) error {
	if err := s.readLog(ctx, watch); err != nil {
		return err
	}
	if s.Input == "" {
		return s.nameLogged()
	}
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
		s.items = shop.Catalogue.Items
		return s.keepVectors(shopVectors, shop.Vectors, shop.Dim)
	}
	v, err := vectors.Open(ctx, s.Input, vectors.Options{})
	if errors.Is(err, vectors.ErrFormat) {
		return fmt.Errorf("%w, or titles in .jsonl, .csv, .tsv, .psv or .dat", err)
	}
	if err != nil {
		return err
	}
	defer v.Close()
	if note := v.Note(); note != "" {
		watch.Remark("%s of %s", note, s.Input)
	}
	if err := checkFinite(ctx, v); err != nil {
		return err
	}
	s.vectors, s.dim, s.values = s.Input, v.Dim(), make([]float32, v.Len()*v.Dim())
	if err := v.Rows(0, v.Len(), s.values); err != nil {
		return err
	}
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
	list, err := interactions.ReadItems(ctx, path, s.Columns)
	if err != nil {
		return err
	}
	s.items = list.Items
	return nil
}

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

func (s *source) number(first int) {
	for i := range s.items {
		s.items[i].ID = strconv.Itoa(first + i)
	}
}

// checkFinite refuses NaN and Inf. Training drops such rows, but here items are named by their order.
func checkFinite(ctx context.Context, v *vectors.Vectors) error {
	_, err := v.Scan(ctx, nil)
	if bad, ok := errors.AsType[*vectors.NonFiniteError](err); ok {
		return fmt.Errorf("row %d of %s holds NaN or Inf (%s), and every row is an item; embed it again, or leave the item out of all files",
			bad.Row, bad.Path, report.Counted(bad.Count, "such row"))
	}
	return err
}

// titled reports whether the items have titles and no embeddings.
func (s *source) titled() bool { return s.vectors == "" && s.Input != "" }

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

func (s *source) keepVectors(name string, values []float32, dim int) error {
	s.vectors, s.values, s.dim = filepath.Join(s.dir, name), values, dim
	if s.dir == "" {
		return nil
	}
	return vectors.Write(s.vectors, dim, values)
}

func joinVectors(list []*source, path string) error {
	var blocks [][]float32
	for _, s := range list {
		if s.dim != list[0].dim {
			return fmt.Errorf("%s has %d dimensions, %s has %d; a union needs embeddings of one kind",
				s.vectors, s.dim, list[0].vectors, list[0].dim)
		}
		blocks = append(blocks, s.values)
	}
	return vectors.Write(path, list[0].dim, blocks...)
}

const textDim = 256

// embedTitles embeds titles in one space, and stores the encoder for items added later.
func embedTitles(ctx context.Context, list []*source, watch task.Watcher) error {
	var texts []string
	for _, s := range list {
		if s.titled() {
			texts = append(texts, s.texts()...)
		}
	}
	if texts == nil {
		return nil
	}
	watch.Remark("embedding %s by the words of their titles; a sentence encoder's embeddings give better IDs",
		report.Counted(len(texts), "item"))
	encoder, err := parallel.Until(ctx, func() (*TextEncoder, error) { return FitText(texts, textDim) })
	if err != nil {
		return err
	}
	for _, s := range list {
		if !s.titled() {
			continue
		}
		if err := encoder.Save(filepath.Join(s.dir, textEncoderFile)); err != nil {
			return err
		}
		if err := s.embed(encoder); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) embed(encoder *TextEncoder) error {
	return s.keepVectors(titleVectors, encoder.Encode(s.texts()), encoder.Dim())
}
