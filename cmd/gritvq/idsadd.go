package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/report"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task/catalogue"
)

func runIDsAdd(ctx context.Context, s *cli.Streams, o idsAddOptions) error {
	table, err := catalogue.Load(o.dir)
	if err != nil {
		return err
	}
	k, err := coderOf(o.dir, table, o.backend)
	if err != nil {
		return err
	}
	old, err := interactions.ReadItems(ctx, filepath.Join(o.dir, idsItems))
	if err != nil {
		return err
	}
	if old.Len() < table.Len() {
		return fmt.Errorf("%s has %s, the table %d; restore it, or make the IDs anew", filepath.Join(o.dir, idsItems), report.Counted(old.Len(), "item"), table.Len())
	}
	staging, err := os.MkdirTemp("", "gritvq-ids-*")
	if err != nil {
		return fmt.Errorf("cannot keep the new items for a moment: %w", err)
	}
	defer os.RemoveAll(staging)
	fresh := &itemSource{input: o.input, itemsAt: o.items, dir: staging}
	if err := fresh.read(ctx, s); err != nil {
		return err
	}
	if fresh.counted {
		if name := fresh.countOn(table); name != "" {
			return fmt.Errorf("the items of %s have names, such as %q; name those of %s with --items", o.dir, name, o.input)
		}
	}
	if _, blind := k.(numbered); !blind {
		if err := o.embed(fresh, staging); err != nil {
			return err
		}
	}
	codes, err := k.codes(ctx, fresh, table.Len())
	if err != nil {
		return err
	}
	var ranked catalogue.Ranked
	if table.Resolution() == catalogue.Reassign {
		if ranked, err = k.ranked(ctx, fresh); err != nil {
			return err
		}
	}
	then := lastVocab(table)
	items := slices.Concat(old.Items[:table.Len()], fresh.items)
	if err := table.Add(codes, fresh.keys(), ranked); err != nil {
		return err
	}
	if now := lastVocab(table); now > then {
		s.Remark("note: up to %d items now have the same codes: models trained on earlier versions leave out those beyond %d (gritvq ids --spare keeps numbers free)", now, then)
	}
	// The items first: names without IDs do no harm, IDs without names would.
	if err := catalogue.WriteItems(o.dir, items); err != nil {
		return err
	}
	if err := writeIDsReport(o.dir, table, items, k, s.Command); err != nil {
		return err
	}
	if err := table.Save(o.dir, ""); err != nil {
		return err
	}
	return showIDs(s, o.json, o.dir, k, table, len(fresh.items))
}

// lastVocab is the number of values of the last position of an ID.
func lastVocab(t *catalogue.Table) int { return t.Vocab()[t.Width()-1] }

// embed gives new items that came as titles embeddings in the space of the
// catalogue's, and refuses what does not go with them.
func (o idsAddOptions) embed(fresh *itemSource, staging string) error {
	encoder, err := catalogue.LoadText(filepath.Join(o.dir, idsTextEncoder))
	absent := errors.Is(err, fs.ErrNotExist)
	switch titles := dataset.KindOf(o.input) == dataset.Items; {
	case titles && absent:
		return fmt.Errorf("%s was made from embeddings; give those of the new items, and their names with --items", o.dir)
	case !titles && absent:
		return nil
	case err != nil:
		return err
	case !titles:
		return fmt.Errorf("%s was made from titles; give a file of the new items", o.dir)
	}
	return fresh.embed(encoder, filepath.Join(staging, idsVectors))
}
