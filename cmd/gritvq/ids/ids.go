// Package ids is the command gritvq ids and the commands below it.
package ids

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/tables"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/spf13/cobra"
)

type options struct {
	catalogue.Options
	settings cli.Settings
	inputs   []string // embeddings or items of a catalogue each
	items    []string
	logs     []string
	log      tables.LogFlags
	columns  tables.ItemFlags
	names    []string
	json     bool
}

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "ids [EMBEDDINGS...] -o DIR",
		Short: "Give the items of a catalogue semantic IDs",
		Long: `Trains a tokenizer on the embeddings of a catalogue, one row an item, and writes the
table of IDs: the codes of every item. Items with equal codes are distinguished by a
number at the end (--resolve token) or by other last codes: the nearest free one for
all but the first (--resolve reassign), or the least moves for all (--resolve sinkhorn).
--items gives the names and titles of the items, in the order of the rows: .jsonl, .csv,
.tsv, .psv or MovieLens .dat. Without embeddings, give the items file alone: titles are
then embedded by the words and runs of letters they share, numbers and years counting
little, which is worse than a sentence encoder. DIR/report.html shows utilization and
the meaning of codes; gritvq ids show explains single codes, gritvq ids add adds items.

--log adds who took what: items that users take together get similar vectors, and IDs
serve recommenders better. Only the training part of the log is used, without the last
two items of each user; its weight against the content is chosen by predicting the
items held out for validation. Without embeddings or titles the log alone makes IDs.

Several catalogues have a tokenizer and a table each, in DIR/NAME; with --union they
share one tokenizer, so that their codes can be compared. NAME is the name of its file
or, if two files have the same name, of its directory, unless --name gives one.

` + methodsHelp,
		Example: `  gritvq ids item_emb.npy --items items.jsonl -o ids
  gritvq ids item_emb.npy --items movies.dat -o ids --method rqvae --resolve reassign
  gritvq ids beauty/emb.npy toys/emb.npy --items beauty/items.jsonl --items toys/items.jsonl -o ids
  gritvq ids item_emb.npy --items items.jsonl --log sequences.txt -o ids
  gritvq ids --log ratings.csv --core 5 -o ids
  gritvq ids item_emb.npy --items items.jsonl -o ids --tokenizer tok
  gritvq ids items.jsonl -o ids
  gritvq ids u.item --columns 1,2 -o ids
  gritvq ids add ids new_emb.npy --items new.jsonl
  gritvq ids show ids 37`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("log") {
				return nil
			}
			return cli.AtLeast("EMBEDDINGS")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.inputs = args
			return o.run(cmd.Context(), s)
		},
	}
	cli.OutputFlag(cmd, &o.Output, "directory of the IDs", "ids")
	o.settings.AddFlags(cmd, false)
	f := cmd.Flags()
	f.Lookup("method").Usage = "quantizer: gritvq methods lists them; also dense, random and vqvae, see above"
	f.Lookup("levels").Usage = "codes of an ID: residual levels, or slices if the method uses slices"
	f.Lookup("steps").Usage = "training steps (default 2000)"
	f.Lookup("split").Hidden = true
	f.StringArrayVar(&o.items, "items", nil,
		"names and titles of the items, in the order of the rows: .jsonl, .csv, .tsv, .psv, .dat or .parquet; "+
			"once a catalogue\n(default: a column id, item, asin or similar of the embeddings' .parquet, or row numbers from 1)")
	f.StringArrayVar(&o.logs, "log", nil, "who took what: sequences.txt, .csv, .tsv, .psv or .parquet, as for gritvq recommend;\n"+
		"once a catalogue")
	o.columns.Add(cmd)
	o.log.Add(cmd, "log-columns")
	f.Lookup("core").Usage = "of --log: " + f.Lookup("core").Usage + ";\ngive recommend the same"
	f.StringArrayVar(&o.names, "name", nil, "name of a catalogue among several; once each")
	f.BoolVar(&o.Union, "union", false, "train one tokenizer on all of several catalogues instead of one each")
	f.Bool("each", true, "the default")
	f.Lookup("each").Hidden = true // of earlier versions
	f.StringVar(&o.Tokenizer, "tokenizer", "", "use this trained tokenizer instead of training one")
	f.StringVar((*string)(&o.Resolve), "resolve", string(catalogue.Token),
		"items with equal codes: token (a number at the end), reassign (the nearest free last code)\n"+
			"or sinkhorn (all of them spread over the free last codes at the least distance)")
	f.IntVar(&o.Spare, "spare", 0, "minimum vocabulary of the token, reserved for items added after a recommender is trained")
	cli.WorkersFlag(cmd, new(int))
	f.BoolVar(&o.Resume, "resume", false, "continue an interrupted training")
	f.BoolVar(&o.Force, "force", false, "overwrite the files in the directory")
	cli.JSONFlag(cmd, &o.json, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
	cmd.AddCommand(newAdd(s), newShow(s))
	return cmd
}

func (o options) run(ctx context.Context, s *cli.Streams) error {
	o.Command = s.Command
	layers, err := o.chooseMethod()
	if err != nil {
		return err
	}
	if err := o.joinSources(); err != nil {
		return err
	}
	if o.Tokenizer == "" {
		if o.Config, err = layers.Config(); err != nil {
			return err
		}
	}
	r, err := catalogue.Make(ctx, o.Options, s)
	switch {
	case err != nil:
		return o.explain(layers.Explain(err))
	case len(o.Sources) == 1:
		return printSummary(s, &r.Catalogues[0], o.json)
	case o.json:
		return s.WriteJSON(r)
	}
	if err := r.Table().Text(s.Out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "\nreport: %s\n", r.Report)
	return err
}

// explain names the flag that chooses the columns of the table at fault.
func (o *options) explain(err error) error {
	if errors.Is(err, interactions.ErrItemColumns) {
		return o.columns.Explain(err)
	}
	return o.log.Explain(err)
}

func (o *options) joinSources() error {
	if len(o.inputs) == 0 {
		o.inputs = []string{""} // the log alone
	}
	options, err := o.log.Options()
	if err != nil {
		return err
	}
	columns, err := o.columns.Options()
	if err != nil {
		return err
	}
	count := report.Counted(len(o.inputs), "catalogue")
	switch n := len(o.inputs); {
	case len(o.items) > 0 && o.inputs[0] == "":
		return usage.Errorf("--items names the rows of embeddings, and there are none; give the items in place of the embeddings")
	case len(o.logs) > 0 && len(o.logs) != n:
		return usage.Errorf("%s and %d of --log: give one a catalogue, or none", count, len(o.logs))
	case len(o.logs) == 0 && options != interactions.Options{}:
		return usage.Errorf("--core and --log-columns are for --log; there is none")
	case len(o.items) > 0 && len(o.items) != n:
		return usage.Errorf("%s and %d of --items: give one a catalogue, or none", count, len(o.items))
	case n == 1 && (len(o.names) > 0 || o.Union):
		return usage.Errorf("--name and --union are for several catalogues; there is one")
	case len(o.names) > 0 && len(o.names) != n:
		return usage.Errorf("%s and %d of --name: give one a catalogue", count, len(o.names))
	}
	for i, input := range o.inputs {
		source := catalogue.Source{Input: input, Columns: columns}
		if len(o.items) > 0 {
			source.Items = o.items[i]
		}
		if len(o.names) > 0 {
			source.Name = o.names[i]
		}
		if len(o.logs) > 0 {
			source.Log = catalogue.LogFile{Path: o.logs[i], Options: options}
		}
		o.Sources = append(o.Sources, source)
	}
	return nil
}

const methodsHelp = `Rows of the paper's recommendation table. All give --levels codes of --codes values:

  Dense ID       --method dense        one code of its own for every item, so that a model's table has a
                                       row an item (atomic IDs): no content, no training; no --levels
  Random codes   --method random       item numbers in random order, spelled in codes: no content
  LSH            --method lsh          signs at log2 K random planes a code, through the mean of the
                                       embeddings themselves: no network, no training
  k-means + STE  --method kmeans-ste   a slice of the latent a code, running k-means in each
  VQ-VAE         --method vqvae        a slice of the latent a code, codebook and commitment losses
                                       (ste with --levels 1 --parts 4)
  RQ-VAE, TIGER  --method rqvae        residual levels as published: k-means start on a batch, dead
                                       codes stay dead (ste is the same with warm-up and resets)
  SimVQ          --method simvq        residual levels
  NSVQ, DiVeQ    --method nsvq, diveq  residual levels
  GRIT-VQ        --method grit         residual levels`

func (o *options) chooseMethod() (tokenize.Settings, error) {
	layers := o.settings.Layers(false)
	method, names := o.settings.Text("method"), catalogue.Methods()
	if !slices.Contains(names, method) {
		if near := config.Nearest(method, names); near != "" {
			return layers, usage.Errorf("--method %s: did you mean %s?", method, near)
		}
		return layers, usage.Errorf("--method %s: use one of %s", method, strings.Join(names, ", "))
	}
	o.Dense, o.Random = method == catalogue.DenseMethod, method == catalogue.RandomMethod
	if o.Dense || o.Random {
		if err := o.exclude("--method "+method+" numbers the items and trains nothing", "tokenizer", "config", "set"); err != nil {
			return layers, err
		}
		if err := o.exclude("--method dense gives every item one code of its own (earlier versions called --method random so)",
			"codes", "levels", "parts"); o.Dense && err != nil {
			return layers, err
		}
	} else if o.Tokenizer != "" {
		return layers, o.exclude(fmt.Sprintf("--tokenizer %s is used as it was trained", o.Tokenizer),
			"method", "codes", "levels", "parts", "dim", "hidden", "steps", "batch", "preset", "config", "set", "seed")
	}
	layers.Defaults, layers.Network = catalogue.Defaults, true
	flags, sliced := layers.Flags, method == catalogue.SlicedMethod
	layers.Flags = func(c *vqtrain.Config) error {
		err := flags(c)
		if o.Dense || o.Random || sliced {
			c.Quantizer.Method = "ste"
		}
		return err
	}
	layers.Final = func(c *vqtrain.Config) {
		// --levels is the length of an ID, also for codes side by side.
		q, arranged := &c.Quantizer, c.Quantizer
		arranged.Arrange(o.settings.Int("levels"), 1)
		if sliced {
			q.Levels, q.Parts = 1, q.Levels*q.Parts
		} else if arranged.Parts > 1 && o.settings.Given("levels") && !o.settings.Given("parts") {
			*q = arranged
		}
	}
	return layers, nil
}

func (o *options) exclude(reason string, flags ...string) error {
	for _, flag := range flags {
		if o.settings.Given(flag) {
			return usage.Errorf("%s; leave --%s out", reason, flag)
		}
	}
	return nil
}

func newAdd(s *cli.Streams) *cobra.Command {
	var o catalogue.AddOptions
	var columns tables.ItemFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add DIR EMBEDDINGS",
		Short: "Give new items IDs, without touching those in use",
		Long: `Encodes new items with the catalogue's tokenizer and adds them to its table, as a new
version. IDs in use stay as they are.`,
		Example: `  gritvq ids add ids new_emb.npy --items new.jsonl`,
		Args:    cli.Arguments("DIR", "EMBEDDINGS"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			o.Dir, o.Source.Input, o.Command = args[0], args[1], s.Command
			if o.Source.Columns, err = columns.Options(); err != nil {
				return err
			}
			summary, err := catalogue.Add(cmd.Context(), o, s)
			if err != nil {
				return columns.Explain(err)
			}
			return printSummary(s, summary, asJSON)
		},
	}
	columns.Add(cmd)
	cmd.Flags().StringVar(&o.Source.Items, "items", "", "names and titles of the new items, in the order of the rows")
	cli.JSONFlag(cmd, &asJSON, "the result as")
	cli.BackendFlag(cmd, &o.Backend)
	return cmd
}

// crowded is the collision rate above which IDs say little about their items.
const crowded = 0.5

func printSummary(s *cli.Streams, r *catalogue.Summary, asJSON bool) error {
	if asJSON {
		return s.WriteJSON(r)
	}
	if err := r.Table().Text(s.Out); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\n%s: %s, version %d\n", r.Output, report.Counted(r.Items, "item"), r.Version)
	fmt.Fprintf(s.Out, "collision rate: %s before, %s after; %s of the items share their codes, at most %d the same\nreport: %s\n",
		report.Percent(r.Before, 2), report.Percent(r.After, 2), report.Percent(r.Stats.Before.Sharing, 2), r.Largest, r.Report)
	if r.Before > crowded {
		s.Remark("note: %s of the items share their codes, which say little then; more --codes or --levels tell items apart, "+
			"if their embeddings do", report.Percent(r.Stats.Before.Sharing, 0))
	}
	if r.After > 0 {
		s.Remark("%s of the items share an ID: no last code was free; --resolve token tells them apart, more codes or levels keep them so",
			report.Percent(r.Stats.After.Sharing, 2))
	}
	return nil
}
