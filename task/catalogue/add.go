package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/task"
)

// AddOptions are those of Add.
type AddOptions struct {
	Dir     string // made by Make
	Source  Source // of the new items; its name is not used
	Backend string
	Command string
}

// Add gives new items IDs by the encoder of a table, as a new version. IDs in use stay as they are.
func Add(ctx context.Context, o AddOptions, watch task.Watcher) (*Summary, error) {
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
	if _, dense := encoder.(denseEncoder); !dense {
		if err := added.embedAs(o.Dir); err != nil {
			return nil, err
		}
	}
	codes, ranked, err := encoder.encode(ctx, added, table.Len(), table.resolution == Reassign)
	if err != nil {
		return nil, err
	}
	before := table.LastVocab()
	if err := table.Add(codes, added.keys(), ranked); err != nil {
		return nil, err
	}
	if now := table.LastVocab(); now > before {
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

// embedAs embeds titles as those of the catalogue in dir were. Titles and embeddings cannot be mixed.
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
