package main

import (
	"context"
	"fmt"

	"github.com/gritvq/gritvq/fit"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/semid"
	"github.com/spf13/cobra"
)

// idsOptions is the command line of ids.
type idsOptions struct {
	settings  settings
	input     string // embeddings, or texts
	items     string
	output    string
	tokenizer string // a trained bundle
	resolve   string
	spare     int // vocabulary of the token
	backend   string
	workers   int
	resume    bool
	force     bool
	json      bool
}

func newIDsCommand(s *streams, run func(context.Context, *streams, idsOptions) error, add func(context.Context, *streams, idsAddOptions) error) *cobra.Command {
	o := idsOptions{}
	o.settings.defaults = func(c *fit.Config) {
		// Every item gets an ID, so every one is learned from; the last third of
		// the preset's steps hardly changes IDs.
		c.Train.Split, c.Train.Evaluate, c.Train.Steps = 1, 0, 2000
	}
	cmd := &cobra.Command{
		Use:   "ids EMBEDDINGS -o DIR",
		Short: "Give the items of a catalogue semantic IDs",
		Long: `Trains a tokenizer on the embeddings of a catalogue, a row each, and writes the table
of IDs: which codes stand for which item. Items with equal codes are told apart by a
number at the end (--resolve token) or by moving the last code to the nearest free
one (--resolve reassign). --items names the items and their titles, in the order of
the rows: .jsonl, .csv, .tsv or MovieLens .dat. With --tokenizer a trained tokenizer
is used, for instance one of the union of several catalogues. Instead of embeddings
the items file itself will do: then titles are embedded by the words they share,
which a sentence encoder does better. New items get IDs with: gritvq ids add.`,
		Example: `  gritvq ids item_emb.npy --items items.jsonl -o ids
  gritvq ids item_emb.npy --items items.jsonl -o ids --tokenizer tok --resolve reassign
  gritvq ids items.jsonl -o ids
  gritvq ids add ids new_emb.npy --items new.jsonl`,
		Args: arguments("EMBEDDINGS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.input = args[0]
			if err := requireOutput(o.output, "ids"); err != nil {
				return err
			}
			return run(cmd.Context(), s, o)
		},
	}
	outputFlag(cmd, &o.output, "directory of the IDs")
	f := cmd.Flags()
	o.settings.flags = f
	o.settings.addFlags(f)
	f.StringVar(&o.items, "items", "", "names and titles of the items, in the order of the rows (default: row numbers from 1)")
	f.StringVar(&o.tokenizer, "tokenizer", "", "use this trained tokenizer instead of training one")
	f.StringVar(&o.resolve, "resolve", string(semid.Token), "items with equal codes: token (a number at the end) or reassign (the nearest free last code)")
	f.IntVar(&o.spare, "spare", 0, "least vocabulary of the token, so that a trained recommender can name items added later")
	f.IntVar(&o.workers, "workers", 0, "threads to use (default all cores)")
	f.BoolVar(&o.resume, "resume", false, "continue an interrupted training")
	f.BoolVar(&o.force, "force", false, "replace what is in the directory")
	f.BoolVar(&o.json, "json", false, "print the result as one JSON object")
	engineFlag(cmd, &o.backend)
	cmd.AddCommand(newIDsAddCommand(s, add))
	return cmd
}

// idsAddOptions is the command line of ids add.
type idsAddOptions struct {
	dir     string
	input   string
	items   string
	backend string
	json    bool
}

func newIDsAddCommand(s *streams, run func(context.Context, *streams, idsAddOptions) error) *cobra.Command {
	var o idsAddOptions
	cmd := &cobra.Command{
		Use:   "add DIR EMBEDDINGS",
		Short: "Give new items IDs, without touching those in use",
		Long: `Encodes new items with the catalogue's tokenizer and adds them to its table, as a new
version. IDs in use stay as they are.`,
		Example: `  gritvq ids add ids new_emb.npy --items new.jsonl`,
		Args:    arguments("DIR", "EMBEDDINGS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir, o.input = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.items, "items", "", "names and titles of the new items, in the order of the rows")
	f.BoolVar(&o.json, "json", false, "print the result as one JSON object")
	engineFlag(cmd, &o.backend)
	return cmd
}

// idsResult is what ids --json prints.
type idsResult struct {
	Output      string  `json:"output"`
	Items       int     `json:"items"`
	Added       int     `json:"added"`
	Version     int     `json:"version"`
	Width       int     `json:"width"` // positions of an ID
	Vocab       []int   `json:"vocab"`
	Before      float64 `json:"collision_rate_before"`
	After       float64 `json:"collision_rate_after"`
	Largest     int     `json:"largest_group"`
	Utilization float64 `json:"utilization"` // mean over the tokenizer's levels
	semid.Stats
}

// showIDs prints what a table looks like.
func showIDs(s *streams, asJSON bool, dir string, t *semid.Table, added int) error {
	stats := t.Stats()
	r := idsResult{Output: dir, Items: t.Len(), Added: added, Version: t.Version(), Width: t.Width(), Vocab: t.Vocab(),
		Before: stats.Before.Rate, After: stats.After.Rate, Largest: stats.Before.Largest, Stats: stats}
	for _, p := range stats.Positions[:t.Levels()] {
		r.Utilization += p.Utilization / float64(t.Levels())
	}
	if asJSON {
		return s.writeJSON(r)
	}
	table := report.Table{Columns: []report.Column{{Name: "position"}, {Name: "codes", Align: report.Right}, {Name: "used", Align: report.Right}, {Name: "perplexity", Align: report.Right}}}
	for i, p := range stats.Positions {
		name := fmt.Sprintf("level %d", i)
		if i == t.Levels() {
			name = "token"
		}
		table.Rows = append(table.Rows, report.Cells(name, report.Count(t.Vocab()[i]), report.Percent(p.Utilization, 1), report.Number(p.Perplexity, 4)))
	}
	if err := table.Text(s.out); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\n%s: %s, version %d\ncollisions: %s of the items before, %s after; the largest group has %s\n", dir, counted(t.Len(), "item"), t.Version(),
		report.Percent(stats.Before.Sharing, 2), report.Percent(stats.After.Sharing, 2), counted(stats.Before.Largest, "item"))
	return nil
}
