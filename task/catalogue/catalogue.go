package catalogue

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// ItemsFile holds names and titles of the items, in the order of the table's rows.
const ItemsFile = "items.jsonl"

// Catalogue is a table of IDs with its items. Any number of goroutines may read it.
type Catalogue struct {
	*Table
	Items *interactions.Catalogue // row by row
	dir   string
	split sync.Once
	words *Words // of the items, once they are shown
}

// Open reads the table in dir, as Load does, and its items.
func Open(ctx context.Context, dir string) (*Catalogue, error) {
	table, err := Load(dir)
	if err != nil {
		return nil, err
	}
	return table.WithItems(ctx, dir)
}

// WithItems reads the items of a table from its directory or that of a model trained on it. The file may hold
// more items than the table: Add replaces the items first.
func (t *Table) WithItems(ctx context.Context, dir string) (*Catalogue, error) {
	path := filepath.Join(dir, ItemsFile)
	items, err := interactions.ReadItems(ctx, path, interactions.ItemColumns{})
	if err != nil {
		return nil, err
	}
	if items.Len() < t.Len() {
		return nil, fmt.Errorf("%s has %s, the table %d; restore it, or make the IDs anew", path, report.Counted(items.Len(), "item"), t.Len())
	}
	if items.Len() > t.Len() {
		items, err = interactions.NewCatalogue(items.Items[:t.Len()])
	}
	return &Catalogue{Table: t, Items: items, dir: dir}, err
}

// Title returns the title of an item, or "" if it has none or is not in the catalogue.
func (c *Catalogue) Title(key string) string {
	if row, ok := c.Items.Row(key); ok {
		return c.Items.Items[row].Title
	}
	return ""
}

// Label returns the title of a row, or its name if it has none.
func (c *Catalogue) Label(row int) string {
	return cmp.Or(c.Title(c.Key(row)), "item "+c.Key(row))
}

type itemLine struct {
	ID         string   `json:"id"`
	Title      string   `json:"title,omitempty"`
	Text       string   `json:"text,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// WriteItems stores items in dir, for WithItems.
func WriteItems(dir string, items []interactions.Item) error {
	content, err := encodeItems(items)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, ItemsFile), content)
}

func encodeItems(items []interactions.Item) ([]byte, error) {
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	for _, item := range items {
		if err := encoder.Encode(itemLine(item)); err != nil {
			return nil, fmt.Errorf("storing the items: %w", err)
		}
	}
	return content.Bytes(), nil
}

// AddOptions are the options of Add.
type AddOptions struct {
	Dir     string // made by Make
	Source  Source // of the new items; its name is not used
	Backend string
	Command string
}

// Add gives new items IDs by the encoder of a table, as a new version. IDs in use stay as they are.
func Add(ctx context.Context, o AddOptions, watch task.Watcher) (*Summary, error) {
	if _, err := readManifest(o.Dir); err != nil {
		return nil, err
	}
	claim, err := output.Lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer claim.Release()
	table, err := Load(o.Dir)
	if err != nil {
		return nil, err
	}
	encoder, err := encoderOf(o.Dir, table, o.Backend)
	if err != nil {
		return nil, err
	}
	old, err := table.WithItems(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	added := &source{Source: o.Source}
	if err := added.read(ctx, watch); err != nil {
		return nil, err
	}
	if added.numbered {
		if err := added.continueNumbers(table, o.Dir); err != nil {
			return nil, err
		}
	}
	if _, plain := encoder.(withoutContent); !plain {
		if err := added.embedAs(o.Dir); err != nil {
			return nil, err
		}
		if err := added.widen(table.taken, o.Dir); err != nil {
			return nil, err
		}
	}
	codes, distances, err := encoder.encode(ctx, added, table.Len(), table.moves())
	if err != nil {
		return nil, err
	}
	before := table.LastVocab()
	if err := table.Add(codes, added.keys(), distances); err != nil {
		return nil, err
	}
	if now := table.LastVocab(); now > before && table.resolution == Unique {
		watch.Remark("note: dense IDs say nothing about new items: models trained on earlier versions cannot find them")
	} else if now > before {
		watch.Remark("note: up to %d items now have the same codes: models trained on earlier versions leave out those beyond %d "+
			"(gritvq ids --spare keeps numbers free)", now, before)
	}
	return save(o.Dir, table, slices.Concat(old.Items.Items, added.items), encoder.origin(), o.Command)
}

func (s *source) continueNumbers(table *Table, dir string) error {
	for row, key := range table.keys {
		if key != strconv.Itoa(row+1) {
			return fmt.Errorf("the items of %s have names, such as %q; name those of %s with --items", dir, key, s.Input)
		}
	}
	s.number(table.Len() + 1)
	return nil
}

// embedAs embeds titles in the same way as the catalogue in dir. Titles and embeddings cannot be mixed.
func (s *source) embedAs(dir string) error {
	encoder, err := LoadText(filepath.Join(dir, textEncoderFile))
	absent := errors.Is(err, fs.ErrNotExist)
	switch titles := dataset.KindOf(s.Input) == dataset.Items; {
	case titles && absent:
		return fmt.Errorf("%s was made from embeddings; give those of the new items, and their names with --items", dir)
	case absent:
		return nil
	case err != nil:
		return err
	case !titles:
		return fmt.Errorf("%s was made from titles; give a file of the new items", dir)
	}
	return s.embed(encoder)
}
