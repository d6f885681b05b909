package main

import (
	"context"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/tokenize"
)

// idsOptions is the command line of ids.
type idsOptions struct {
	settings  cli.Settings
	layers    tokenize.Settings // chooseMethod sets it
	inputs    []string          // embeddings, or texts, of a catalogue each
	items     []string
	names     []string
	output    string
	tokenizer string // a trained bundle
	resolve   string
	spare     int // vocabulary of the token
	each      bool
	dense     bool // no tokenizer: chooseMethod sets it
	backend   string
	workers   int
	resume    bool
	force     bool
	json      bool
}

// idsCommands are the runs behind ids and the commands below it.
type idsCommands struct {
	run  func(context.Context, *cli.Streams, idsOptions) error
	add  func(context.Context, *cli.Streams, idsAddOptions) error
	show func(context.Context, *cli.Streams, idsShowOptions) error
}

func newIDsCommand(s *cli.Streams, commands idsCommands) *cobra.Command {
	o := idsOptions{}
	cmd := &cobra.Command{
		Use:   "ids EMBEDDINGS... -o DIR",
		Short: "Give the items of a catalogue semantic IDs",
		Long: `Trains a tokenizer on the embeddings of a catalogue, a row each, and writes the table
of IDs: which codes stand for which item. Items with equal codes are told apart by a
number at the end (--resolve token) or by moving the last code to the nearest free
one (--resolve reassign). --items names the items and their titles, in the order of
the rows: .jsonl, .csv, .tsv or MovieLens .dat. Instead of embeddings the items file
itself will do: then titles are embedded by the words they share, which a sentence
encoder does better. DIR/report.html shows how the codes came into use and what they
mean; gritvq ids show asks for single ones, gritvq ids add takes in new items.

Several catalogues share one tokenizer, trained on their union, and get a table each
in DIR/NAME, to be used like any other (--each: a tokenizer each). They are called
after their files or, where these are called alike, the directories they are in, or
as --name says.

` + idsMethodsHelp,
		Example: `  gritvq ids item_emb.npy --items items.jsonl -o ids
  gritvq ids item_emb.npy --items movies.dat -o ids --method rqvae --resolve reassign
  gritvq ids beauty/emb.npy toys/emb.npy --items beauty/items.jsonl --items toys/items.jsonl -o ids
  gritvq ids item_emb.npy --items items.jsonl -o ids --tokenizer tok
  gritvq ids items.jsonl -o ids
  gritvq ids add ids new_emb.npy --items new.jsonl
  gritvq ids show ids 37`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("ids needs EMBEDDINGS: gritvq %s", cmd.Use)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.inputs = args
			if err := cli.RequireOutput(o.output, "ids"); err != nil {
				return err
			}
			return commands.run(cmd.Context(), s, o)
		},
	}
	cli.OutputFlag(cmd, &o.output, "directory of the IDs")
	f := cmd.Flags()
	o.settings.AddFlags(cmd, false)
	f.Lookup("method").Usage = "quantizer: gritvq methods lists them; also dense and vqvae, see above"
	f.Lookup("levels").Usage = "codes of an ID; residual levels, or slices where the method has those"
	f.Lookup("steps").Usage = "training steps (default 2000)"
	f.Lookup("split").Hidden = true
	f.StringArrayVar(&o.items, "items", nil, "names and titles of the items, in the order of the rows: .jsonl, .csv, .tsv, .dat or .parquet; once a catalogue\n(default: a column of the embeddings' .parquet that is called id, item, asin or so, or row numbers from 1)")
	f.StringArrayVar(&o.names, "name", nil, "name of a catalogue among several; once each")
	f.BoolVar(&o.each, "each", false, "train a tokenizer for each of several catalogues instead of one on all")
	f.StringVar(&o.tokenizer, "tokenizer", "", "use this trained tokenizer instead of training one")
	f.StringVar(&o.resolve, "resolve", string(catalogue.Token), "items with equal codes: token (a number at the end) or reassign (the nearest free last code)")
	f.IntVar(&o.spare, "spare", 0, "least vocabulary of the token, so that a trained recommender can name items added later")
	cli.WorkersFlag(cmd, &o.workers)
	f.BoolVar(&o.resume, "resume", false, "continue an interrupted training")
	f.BoolVar(&o.force, "force", false, "replace what is in the directory")
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.backend)
	cmd.AddCommand(newIDsAddCommand(s, commands.add), newIDsShowCommand(s, commands.show))
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

func newIDsAddCommand(s *cli.Streams, run func(context.Context, *cli.Streams, idsAddOptions) error) *cobra.Command {
	var o idsAddOptions
	cmd := &cobra.Command{
		Use:   "add DIR EMBEDDINGS",
		Short: "Give new items IDs, without touching those in use",
		Long: `Encodes new items with the catalogue's tokenizer and adds them to its table, as a new
version. IDs in use stay as they are.`,
		Example: `  gritvq ids add ids new_emb.npy --items new.jsonl`,
		Args:    cli.Arguments("DIR", "EMBEDDINGS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir, o.input = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.items, "items", "", "names and titles of the new items, in the order of the rows")
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}

// idsShowOptions is the command line of ids show.
type idsShowOptions struct {
	dir   string
	codes []string
	item  string
	limit int
	json  bool
}

func newIDsShowCommand(s *cli.Streams, run func(context.Context, *cli.Streams, idsShowOptions) error) *cobra.Command {
	var o idsShowOptions
	cmd := &cobra.Command{
		Use:   "show DIR [CODE...]",
		Short: "What codes stand for: the items of an ID or of its beginning",
		Long: `Lists the items whose IDs begin with the given codes, the words that are typical of
them and the codes that come next. With --item, the ID of an item and those that
share most of it.`,
		Example: `  gritvq ids show ids 37
  gritvq ids show ids 37 120
  gritvq ids show ids --item 845`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("show needs DIR: gritvq ids %s", cmd.Use)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir, o.codes = args[0], args[1:]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.item, "item", "", "look an item up by its name")
	f.IntVarP(&o.limit, "limit", "k", 20, "items to list")
	cli.JSONFlag(cmd, &o.json, "the result as")
	return cmd
}
