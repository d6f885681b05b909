package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/task/catalogue"
)

// The parts of a directory of IDs beside the table itself.
const (
	idsTokenizer   = "tokenizer" // a bundle
	idsItems       = catalogue.ItemsFile
	idsReport      = "report.html"        // how codes are used, and for what
	idsTextEncoder = "titles.safetensors" // embeds titles, where no embeddings were given
	idsVectors     = "titles.npy"         // embedded titles
	shopVectors    = "shop.npy"           // embeddings of the built-in shop
	unionVectors   = "union.npy"          // of several catalogues, while training
)

// textDim is the dimension of embedded titles.
const textDim = 256

// itemSource is a list of items on its way to a table of IDs.
type itemSource struct {
	name    string // among several
	dir     string // of its table
	input   string
	itemsAt string // the file of --items, or ""
	items   []interactions.Item
	vectors string // file of embeddings; "" where the items are all that is known
	loaded  []float32
	counted bool // items are called by their row numbers, for want of names
}

// read finds the items, and their embeddings unless they are yet to be made from
// titles.
func (c *itemSource) read(ctx context.Context, s *cli.Streams) error {
	kind := dataset.KindOf(c.input)
	if kind == dataset.Items {
		if c.itemsAt != "" {
			return usage.Errorf("%s names the items itself; leave --items out", c.input)
		}
		list, err := interactions.ReadItems(ctx, c.input)
		if err != nil {
			return err
		}
		c.items = list.Items
		return nil
	}
	if kind == dataset.Shop {
		shop, err := interactions.OpenShop(c.input)
		if err != nil {
			return err
		}
		c.items, c.vectors = shop.Catalogue.Items, filepath.Join(c.dir, shopVectors)
		return writeNPY(c.vectors, shop.Vectors, shop.Dim)
	}
	v, err := vectors.Open(ctx, c.input, vectors.Options{})
	if errors.Is(err, vectors.ErrFormat) {
		return fmt.Errorf("%w, or titles in .jsonl, .csv, .tsv or .dat", err)
	}
	if err != nil {
		return err
	}
	defer v.Close()
	if err := checkItemRows(ctx, v); err != nil {
		return err
	}
	c.vectors = c.input
	if c.itemsAt == "" {
		return c.nameRows(ctx, s, v.Len())
	}
	list, err := interactions.ReadItems(ctx, c.itemsAt)
	if err != nil {
		return err
	}
	if list.Len() != v.Len() {
		return fmt.Errorf("%s has %s, %s has %s; give one row an item", c.itemsAt, report.Counted(list.Len(), "item"), c.input, report.Counted(v.Len(), "row"))
	}
	c.items = list.Items
	return nil
}

// nameRows names the items of embeddings that came without a list of them: as the
// file itself does, in a column of a parquet file, or by row numbers from 1.
func (c *itemSource) nameRows(ctx context.Context, s *cli.Streams, rows int) error {
	if strings.EqualFold(filepath.Ext(c.input), ".parquet") {
		list, err := interactions.ReadItems(ctx, c.input)
		if err == nil {
			c.items = list.Items
			s.Remark("%s names its items itself, such as %q; --items would name them otherwise", c.input, c.items[0].ID)
			return nil
		}
		if !errors.Is(err, interactions.ErrUnnamed) {
			return fmt.Errorf("%w, or name the items with --items", err)
		}
	}
	c.items, c.counted = make([]interactions.Item, rows), true
	for i := range c.items {
		c.items[i].ID = strconv.Itoa(i + 1)
	}
	return nil
}

// countOn numbers items after those of a table that are numbered too. If one of
// these has a name instead it does nothing and returns that.
func (c *itemSource) countOn(table *catalogue.Table) (name string) {
	for row := range table.Len() {
		if key := table.Key(row); key != strconv.Itoa(row+1) {
			return key
		}
	}
	for i := range c.items {
		c.items[i].ID = strconv.Itoa(table.Len() + i + 1)
	}
	return ""
}

// checkItemRows refuses embeddings with NaN or Inf. Such rows cannot be dropped as
// for train: every row is an item, and the items are named in their order.
func checkItemRows(ctx context.Context, v *vectors.Vectors) error {
	_, err := v.Scan(ctx, nil)
	if bad, ok := errors.AsType[*vectors.NonFiniteError](err); ok {
		return fmt.Errorf("row %d of %s holds NaN or Inf (%s), and every row is an item; embed it again, or leave the item out of all files", bad.Row, bad.Path, report.Counted(bad.Count, "such row"))
	}
	return err
}

// embedTitles gives embeddings to catalogues that came without: by the words
// that titles share, all in one space. The encoder stays beside each.
func embedTitles(s *cli.Streams, list []*itemSource) error {
	var texts []string
	for _, c := range list {
		if c.vectors != "" {
			continue
		}
		texts = append(texts, c.texts()...)
	}
	if texts == nil {
		return nil
	}
	s.Remark("embedding %s by the words of their titles; a sentence encoder's embeddings give better IDs", report.Counted(len(texts), "item"))
	encoder, err := catalogue.FitText(texts, textDim)
	if err != nil {
		return err
	}
	for _, c := range list {
		if c.vectors != "" {
			continue
		}
		if err := encoder.Save(filepath.Join(c.dir, idsTextEncoder)); err != nil {
			return err
		}
		if err := c.embed(encoder, filepath.Join(c.dir, idsVectors)); err != nil {
			return err
		}
	}
	return nil
}

// embed writes the embeddings of the titles to path.
func (c *itemSource) embed(encoder *catalogue.TextEncoder, path string) error {
	c.vectors = path
	return writeNPY(path, encoder.Encode(c.texts()), encoder.Dim())
}

func (c *itemSource) texts() []string {
	texts := make([]string, len(c.items))
	for i, item := range c.items {
		texts[i] = item.Text
	}
	return texts
}

// keys are the names of the items.
func (c *itemSource) keys() []string {
	keys := make([]string, len(c.items))
	for i, item := range c.items {
		keys[i] = item.ID
	}
	return keys
}

// rows returns the embeddings [items, dim].
func (c *itemSource) rows(ctx context.Context, dim int) ([]float32, error) {
	if c.loaded != nil {
		return c.loaded, nil
	}
	v, err := vectors.Open(ctx, c.vectors, vectors.Options{})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if err := checkDimension(v, dim); err != nil {
		return nil, err
	}
	x := make([]float32, v.Len()*v.Dim())
	if err := v.Rows(0, v.Len(), x); err != nil {
		return nil, err
	}
	c.loaded = x
	return x, nil
}

// joinVectors writes the embeddings of all catalogues, one after the other, to
// path.
func joinVectors(ctx context.Context, list []*itemSource, path string) error {
	var parts []*vectors.Vectors
	total := 0
	for _, c := range list {
		v, err := vectors.Open(ctx, c.vectors, vectors.Options{})
		if err != nil {
			return err
		}
		defer v.Close()
		parts, total = append(parts, v), total+v.Len()
		if v.Dim() != parts[0].Dim() {
			return fmt.Errorf("%s has %d dimensions, %s has %d; a union needs embeddings of one kind", c.vectors, v.Dim(), list[0].vectors, parts[0].Dim())
		}
	}
	w, err := vectors.Create(path, parts[0].Dim(), total)
	if err != nil {
		return err
	}
	defer w.Abort()
	const block = 4096 // rows
	for _, v := range parts {
		for start := 0; start < v.Len(); start += block {
			rows := make([]float32, min(block, v.Len()-start)*v.Dim())
			if err := v.Rows(start, len(rows)/v.Dim(), rows); err != nil {
				return err
			}
			if err := w.WriteRows(rows); err != nil {
				return err
			}
		}
	}
	return w.Commit()
}

func writeNPY(path string, values []float32, dim int) error {
	w, err := vectors.Create(path, dim, len(values)/dim)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.WriteRows(values); err != nil {
		return err
	}
	return w.Commit()
}
