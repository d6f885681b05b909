// Package retrieve is the command gritvq retrieve.
package retrieve

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/models"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/tables"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommend"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retrieve",
		Short: "Train, score and ask a search engine over semantic IDs",
		Long: `A dual encoder computes a vector of the words of a search and one of every item, and
adds their inner products to BM25's scores of the words that titles share with it. It learns from
searches with their answers: tables of searches and items, files in the layout of
Amazon's Shopping Queries Dataset (ESCI), or searches derived from the catalogue's titles and categories. --model bm25 compares words.`,
		Example: `  gritvq ids items.jsonl -o ids
  gritvq retrieve train ids derived -o search
  gritvq retrieve eval search derived
  gritvq retrieve ask search "coconut oil" -k 10`,
		Args: cobra.ArbitraryArgs,
		RunE: cli.Help,
	}
	cmd.AddCommand(newTrain(s), newEval(s), newAsk(s))
	return cmd
}

const queriesHelp = `QUERIES is one or more tables, .csv, .tsv, .psv or .parquet, with a row an answer: the
text of a search and the name of an item (--columns), and optionally a split of train,
validation and test; files in the layout of ESCI (query_id, query, product_id,
product_locale, esci_label and optionally split; product_title in a file of products);
or the word derived: one or two words of a title and its narrowest category; the answers
are all items with these. derived?count=1000&answers=20&seed=2 limits the number of
searches and of their answers, and changes the seed.`

// queryFlags say how searches are read.
type queryFlags struct {
	columns tables.QueryFlags
	options interactions.QueryOptions
}

func (o *queryFlags) add(cmd *cobra.Command) {
	o.columns.Add(cmd)
	f, into := cmd.Flags(), &o.options.ESCI
	f.StringVar(&into.Locale, "locale", "us", "of ESCI files: us, es or jp")
	f.StringVar(&into.Answers, "labels", "E", "of ESCI files: labels that count as answers, such as ES for exact matches and substitutes")
	f.BoolVar(&into.Small, "small", false, "of ESCI files: use the reduced version only")
}

func (o *queryFlags) source(names []string) (recommend.Source, error) {
	err := o.columns.Set(&o.options)
	return recommend.Searches(names, o.options), err
}

func newTrain(s *cli.Streams) *cobra.Command {
	var o models.TrainFlags
	var queries queryFlags
	cmd := &cobra.Command{
		Use:   "train IDS QUERIES... -o DIR",
		Short: "Train a search engine on searches and their answers",
		Long: `Learns to find the answers of searches in a catalogue. IDS is a directory made by gritvq
ids. Of ten searches eight are for training, one is for validation and early stopping,
and one for testing; ESCI's test searches stay test searches. Without a
GPU the network and its budget are fitted to the cores and the data, for about three
minutes of training, unless --config, --set or --steps give others.` + "\n\n" + queriesHelp,
		Example: `  gritvq retrieve train ids derived -o search
  gritvq retrieve train ids derived -o words --model bm25
  gritvq retrieve train ids derived -o words --model bm25 --set model.stem=false --set model.runs=3
  gritvq retrieve train ids searches.csv --columns search_term,product_uid -o search
  gritvq retrieve train ids shopping_queries_dataset_examples.parquet shopping_queries_dataset_products.parquet -o search --steps 5000`,
		Args: cli.AtLeast("IDS", "QUERIES"),
	}
	o.Add(cmd, recommend.Searching, "search", "512")
	queries.add(cmd)
	kinds := recommend.Kinds(recommend.Searching)
	model := cmd.Flags().String("model", kinds[0], "kind of model: "+strings.Join(kinds, " or "))
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if cmd.Flags().Changed("model") {
			o.Model = *model
		}
		o.IDs = args[0]
		if o.Source, err = queries.source(args[1:]); err != nil {
			return err
		}
		return queries.columns.Explain(o.Run(cmd.Context(), s, "engine"))
	}
	return cmd
}

func newEval(s *cli.Streams) *cobra.Command {
	var o models.EvalFlags
	var queries queryFlags
	cmd := &cobra.Command{
		Use:   "eval DIR QUERIES...",
		Short: "Score a search engine on searches it has not seen",
		Long: `Runs the test searches and reports recall, NDCG and MRR over the whole catalogue, and
again for searches whose answers are rare in training, and the time of an answer. BM25
over the items' texts is printed beside the model, with the paired difference.
--search ivf or hnsw searches only a part of the catalogue.` + "\n\n" + queriesHelp,
		Example: `  gritvq retrieve eval search derived
  gritvq retrieve eval search derived --search hnsw --json
  gritvq retrieve eval search derived --per-query queries.parquet`,
		Args: cli.AtLeast("DIR", "QUERIES"),
	}
	f := cmd.Flags()
	f.IntVar(&o.Depth, "depth", 100, "length of the lists; metrics beyond it are not reported")
	f.StringVar(&o.Ranks, "per-query", "", "file of every search's ranks and scores: .parquet or .csv, for gritvq recommend significance")
	f.IntVar(&o.Cold, "cold", 0, "also score the searches whose answers each occur at most so often in training")
	o.Add(cmd, recommend.Searching, "BM25")
	queries.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if o.Depth < 1 || o.Cold < 0 {
			return usage.Errorf("--depth must be at least 1 and --cold not negative")
		}
		o.Dir = args[0]
		if o.Source, err = queries.source(args[1:]); err != nil {
			return err
		}
		e, err := o.Evaluate(cmd.Context(), s)
		if err != nil {
			return queries.columns.Explain(err)
		}
		if o.JSON {
			return s.WriteJSON(struct {
				Queries     int `json:"queries"`
				ColdQueries int `json:"cold_queries"`
				*recommend.Evaluation
			}{e.Questions, e.ColdQuestions, e})
		}
		seen := "do not occur in training"
		if o.Cold > 0 {
			seen = fmt.Sprintf("occur at most %s in training", report.Counted(o.Cold, "time"))
		}
		return models.ShowEvaluation(s, e, fmt.Sprintf("searches whose answers %s: %s", seen, report.Count(e.ColdQuestions)))
	}
	return cmd
}

func newAsk(s *cli.Streams) *cobra.Command {
	var o models.AskFlags
	cmd := &cobra.Command{
		Use:     "ask DIR TEXT",
		Short:   "Search a catalogue",
		Long:    `Prints the items that answer a search best.`,
		Example: `  gritvq retrieve ask search "coconut oil" -k 10`,
		Args:    cli.Arguments("DIR", "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir, o.Text = args[0], args[1]
			return o.Run(cmd.Context(), s)
		},
	}
	o.Add(cmd, recommend.Searching, "items to find")
	return cmd
}
