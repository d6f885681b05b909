package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/recommend/retrieval"
)

// retrieveCommands are what the subcommands of retrieve run.
type retrieveCommands struct {
	train func(context.Context, *cli.Streams, retrieveTrainOptions) error
	eval  func(context.Context, *cli.Streams, retrieveEvalOptions) error
	ask   func(context.Context, *cli.Streams, retrieveAskOptions) error
}

func newRetrieveCommand(s *cli.Streams, run retrieveCommands) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retrieve",
		Short: "Train, score and ask a search engine over semantic IDs",
		Long: `A dual encoder makes a vector of the words of a search and one of every item's semantic
ID, and finds the items of the largest inner product. It learns from searches and the
items that answer them: files in the layout of Amazon's Shopping Queries Dataset (ESCI),
or searches that are made up from the catalogue's titles and categories.`,
		Example: `  gritvq ids items.jsonl -o ids
  gritvq retrieve train ids derived -o search
  gritvq retrieve eval search derived
  gritvq retrieve ask search "coconut oil" -k 10`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return cli.UnknownCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(newRetrieveTrain(s, run.train), newRetrieveEval(s, run.eval), newRetrieveAsk(s, run.ask))
	return cmd
}

// queriesHelp explains the argument QUERIES.
const queriesHelp = `QUERIES is one or more parquet files in the layout of ESCI (query_id, query, product_id,
product_locale, esci_label and, if there, split; product_title in a file of products),
or the word derived: one or two words of a title and its narrowest category, answered
by the items that have them. derived?count=1000&answers=20&seed=2 bounds the number of
searches and of their answers, and draws others.`

// queryFlags choose searches.
func queryFlags(cmd *cobra.Command, into *retrieval.Source) {
	f := cmd.Flags()
	f.StringVar(&into.ESCI.Locale, "locale", "us", "of ESCI files: us, es or jp")
	f.StringVar(&into.ESCI.Answers, "labels", "E", "of ESCI files: labels that count as answers, such as ES for exact matches and substitutes")
	f.BoolVar(&into.ESCI.Small, "small", false, "of ESCI files: keep to the reduced version")
}

// argumentsAndQueries requires one named argument and then searches.
func argumentsAndQueries(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return cli.Arguments(name, "QUERIES")(cmd, args)
		}
		return nil
	}
}

// retrieveTrainOptions is the command line of retrieve train.
type retrieveTrainOptions struct {
	modelTraining
	ids    string
	source retrieval.Source
}

func newRetrieveTrain(s *cli.Streams, run func(context.Context, *cli.Streams, retrieveTrainOptions) error) *cobra.Command {
	var o retrieveTrainOptions
	cmd := &cobra.Command{
		Use:   "train IDS QUERIES... -o DIR",
		Short: "Train a search engine on searches and their answers",
		Long: `Learns to find the answers of searches in a catalogue. IDS is a directory made by gritvq
ids. Of ten searches eight are learned from, one is for validation, by which training
stops early, and one for testing; ESCI's own test searches stay such. The default budget
is made for a GPU: on a few cores give --steps 1000 --batch 128 or so.` + "\n\n" + queriesHelp,
		Example: `  gritvq retrieve train ids derived -o search
  gritvq retrieve train ids shopping_queries_dataset_examples.parquet shopping_queries_dataset_products.parquet -o search --steps 5000`,
		Args: argumentsAndQueries("IDS"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ids, o.source.Names = args[0], args[1:]
			if err := cli.RequireOutput(o.output, "search"); err != nil {
				return err
			}
			return run(cmd.Context(), s, o)
		},
	}
	o.addFlags(cmd, "search engine")
	cmd.Flags().Lookup("batch").Usage = "examples a step (default 512)"
	queryFlags(cmd, &o.source)
	return cmd
}

// retrieveEvalOptions is the command line of retrieve eval.
type retrieveEvalOptions struct {
	dir      string
	source   retrieval.Source
	depth    int
	search   searchFlags
	perQuery string
	cold     int
	backend  string
	workers  int
	json     bool
}

func newRetrieveEval(s *cli.Streams, run func(context.Context, *cli.Streams, retrieveEvalOptions) error) *cobra.Command {
	var o retrieveEvalOptions
	cmd := &cobra.Command{
		Use:   "eval DIR QUERIES...",
		Short: "Score a search engine on searches it has not seen",
		Long: `Makes the searches for testing and reports recall, NDCG and MRR over the whole
catalogue, also for searches whose answers training hardly saw, and the time of an
answer. --search ivf or hnsw looks at a part of the catalogue only.` + "\n\n" + queriesHelp,
		Example: `  gritvq retrieve eval search derived
  gritvq retrieve eval search derived --search hnsw --json
  gritvq retrieve eval search derived --per-query queries.parquet`,
		Args: argumentsAndQueries("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir, o.source.Names = args[0], args[1:]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.depth, "depth", 100, "length of the lists; metrics beyond it are not reported")
	o.search.add(cmd)
	f.StringVar(&o.perQuery, "per-query", "", "file of every search's ranks and scores: .parquet or .csv, for gritvq recommend significance")
	f.IntVar(&o.cold, "cold", 0, "searches whose answers each occur at most so often in training are scored apart too")
	cli.WorkersFlag(cmd, &o.workers)
	cli.JSONFlag(cmd, &o.json, "the scores as")
	queryFlags(cmd, &o.source)
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}

// retrieveAskOptions is the command line of retrieve ask.
type retrieveAskOptions struct {
	dir     string
	text    string
	count   int
	search  searchFlags
	backend string
	json    bool
}

func newRetrieveAsk(s *cli.Streams, run func(context.Context, *cli.Streams, retrieveAskOptions) error) *cobra.Command {
	var o retrieveAskOptions
	cmd := &cobra.Command{
		Use:     "ask DIR TEXT",
		Short:   "Search a catalogue",
		Long:    `Prints the items that answer a search best.`,
		Example: `  gritvq retrieve ask search "coconut oil" -k 10`,
		Args:    cli.Arguments("DIR", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir, o.text = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.count, "count", "k", 10, "items to find")
	o.search.add(cmd)
	cli.JSONFlag(cmd, &o.json, "")
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}
