// Package recommend is the command gritvq recommend.
package recommend

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/models"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/tables"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommend"
	"github.com/spf13/cobra"
)

// New returns the command.
func New(s *cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recommend",
		Short: "Train, score and ask a recommender over semantic IDs",
		Long: `A dual encoder computes a vector of the history and one of every item, and adds their
inner products to a classical score, such as how often items follow each other: it
starts from that score and learns what it lacks. A generative recommender reads a
user's last items as semantic IDs and generates the ID of the next item, code by code;
a beam search along existing IDs returns items of the catalogue only. sasrec reads the
items themselves, without IDs. popularity, itemknn, transitions and ease are classical: they count
and are ready in seconds.`,
		Example: `  gritvq ids item_emb.npy --items items.jsonl -o ids
  gritvq recommend train ids sequences.txt -o rec
  gritvq recommend train ids sequences.txt -o tiger --model generative
  gritvq recommend eval rec sequences.txt --per-user users.parquet
  gritvq recommend ask rec --history 12,845,77 -k 10
  gritvq recommend significance a.parquet b.parquet`,
		Args: cobra.ArbitraryArgs,
		RunE: cli.Help,
	}
	cmd.AddCommand(newTrain(s), newEval(s), newAsk(s), newSignificance(s))
	return cmd
}

func newTrain(s *cli.Streams) *cobra.Command {
	var o models.TrainFlags
	var log tables.LogFlags
	cmd := &cobra.Command{
		Use:   "train IDS LOG -o DIR",
		Short: "Train a recommender on who took what",
		Long: `Learns to continue the sequences of a log: sequences.txt (a user a line: user item item
...), .csv, .tsv, .psv or .parquet of (user, item, time), or synthetic:shop. For every user
the last item is held out for testing and the one before for validation and early
stopping. IDS is a directory made by gritvq ids. --core 5 keeps only users and items
with at least five interactions; give eval the same.

With a GPU the network and its budget are the paper's. Without one they are fitted to
the cores and the data, for about three minutes of training, unless --config, --set or
--steps give others; what was chosen is printed with the time it will take.`,
		Example: `  gritvq recommend train ids sequences.txt -o rec
  gritvq recommend train ids sequences.txt -o dual --prior none --steps 5000
  gritvq recommend train ids sequences.txt -o knn --model itemknn
  gritvq recommend train ids sequences.txt -o next --model transitions --set model.window=3
  gritvq recommend train ids log.csv -o rec --core 5 --steps 5000 --set model.layers=2
  gritvq recommend train ids events.csv -o rec --columns visitorid,itemid,timestamp
  gritvq recommend train ids log.csv -o rec --model generative --steps 1200 --batch 128 --set model.layers=2 --set model.width=64 \
    --set model.feed_forward=256 --set model.heads=4 --set model.head_dim=16 --set model.history=8 --set train.optimizer.rate=0.003`,
		Args: cli.Arguments("IDS", "LOG"),
	}
	o.Add(cmd, recommend.Recommending, "rec", "512; 256 of a generative model")
	log.Add(cmd, "columns")
	kinds := recommend.Kinds(recommend.Recommending)
	model := cmd.Flags().String("model", kinds[0], "kind of model: "+strings.Join(kinds, ", "))
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if cmd.Flags().Changed("model") {
			o.Model = *model
		}
		o.IDs = args[0]
		options, err := log.Options()
		if err != nil {
			return err
		}
		o.Source = recommend.Log(args[1], options)
		return log.Explain(o.Run(cmd.Context(), s, "recommender"))
	}
	return cmd
}

func newEval(s *cli.Streams) *cobra.Command {
	var o models.EvalFlags
	var log tables.LogFlags
	cmd := &cobra.Command{
		Use:   "eval DIR LOG",
		Short: "Score a recommender on every user's last item",
		Long: `Predicts the last item of every user from the items before it and reports recall, NDCG
and MRR over the whole catalogue, and again for items that are rare in training.
Popularity, item-kNN and transitions, counted from the training part of the log, are
printed beside the model, with the paired difference and its interval.
--per-user writes every user's rank, for gritvq recommend significance.`,
		Example: `  gritvq recommend eval rec sequences.txt
  gritvq recommend eval rec sequences.txt --per-user users.parquet --json
  gritvq recommend eval dual sequences.txt --beam 100 --search hnsw
  gritvq recommend eval rec sequences.txt --seen keep --no-references`,
		Args: cli.Arguments("DIR", "LOG"),
	}
	f := cmd.Flags()
	log.Add(cmd, "columns")
	f.IntVar(&o.Depth, "beam", 0, "length of the lists, and beams of a generative model; metrics beyond it are not reported\n"+
		"(default 50; dual encoder: 100)")
	f.StringVar(&o.Ranks, "per-user", "", "file of every user's rank and scores: .parquet or .csv")
	f.IntVar(&o.Cold, "cold", 5, "also score the items that occur at most so often in training")
	o.Add(cmd, recommend.Recommending, "popularity, item-kNN and transitions")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if o.Depth < 0 || o.Cold < 0 {
			return usage.Errorf("--beam and --cold must not be negative")
		}
		o.Dir = args[0]
		options, err := log.Options()
		if err != nil {
			return err
		}
		o.Source = recommend.Log(args[1], options)
		e, err := o.Evaluate(cmd.Context(), s)
		if err != nil {
			return log.Explain(err)
		}
		if o.JSON {
			return s.WriteJSON(struct {
				Users     int `json:"users"`
				ColdUsers int `json:"cold_users"`
				*recommend.Evaluation
			}{e.Questions, e.ColdQuestions, e})
		}
		return models.ShowEvaluation(s, e,
			fmt.Sprintf("%s whose item occurs at most %d times in training:", report.Counted(e.ColdQuestions, "user"), o.Cold))
	}
	return cmd
}

func newAsk(s *cli.Streams) *cobra.Command {
	var o models.AskFlags
	cmd := &cobra.Command{
		Use:   "ask DIR --history ITEM,ITEM,... | --users LOG -o FILE",
		Short: "Ask what comes next",
		Long: `Prints the best next items after a history, the latest item last, and the time that an
answer takes once the recommender is loaded. Without a history it answers for someone
new.

--users writes the answers of many users to a file: .parquet and .csv have a row an
answer (user, rank, item, score), .jsonl a line a user. LOG holds their histories in
the form that training reads, all items of a user being the history.`,
		Example: `  gritvq recommend ask rec --history 12,845,77 -k 10
  gritvq recommend ask rec --history 12,845,77 --seen keep --json
  gritvq recommend ask rec --users sequences.txt -k 20 -o recs.parquet
  gritvq recommend ask rec --history 12,845,77 --ids ids # also items that were added since`,
		Args: cli.Arguments("DIR"),
	}
	f := cmd.Flags()
	history := f.String("history", "", "items that the user took, the latest last")
	f.StringVar(&o.User, "user", "", "the user, if known to the recommender")
	f.IntVar(&o.Beam, "beam", 20, "beams of a generative model, at least as many as items")
	var log tables.LogFlags
	users := f.String("users", "", "a log with the histories of many users; their answers go to the file -o")
	file := f.StringP("output", "o", "", "`FILE` of the answers of --users: .parquet, .jsonl or .csv")
	log.Add(cmd, "columns")
	f.Lookup("columns").Usage = "of --users: " + f.Lookup("columns").Usage
	f.Lookup("core").Hidden = true
	o.Add(cmd, recommend.Recommending, "items to recommend")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		o.Dir = args[0]
		switch single := *history != "" || o.User != ""; {
		case (*users == "") != (*file == ""):
			return usage.Errorf("--users and -o go together: the log of the users, and the file of their answers")
		case *users != "" && single:
			return usage.Errorf("--users has the histories; leave --history and --user out")
		}
		if o.History, err = itemNames(*history); err != nil {
			return err
		}
		if o.Beam < 1 {
			return usage.Errorf("--beam %d must be at least 1", o.Beam)
		}
		if *users == "" {
			return o.Run(cmd.Context(), s)
		}
		many := recommend.AskManyOptions{Users: *users, Output: *file}
		if many.Log, err = log.Options(); err != nil {
			return err
		}
		return log.Explain(o.RunMany(cmd.Context(), s, many))
	}
	return cmd
}

// itemNames splits a list of items at commas outside quotes.
func itemNames(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	in := csv.NewReader(strings.NewReader(strings.NewReplacer("\r\n", ",", "\n", ",").Replace(list)))
	in.TrimLeadingSpace = true
	names, err := in.Read()
	if err != nil {
		return nil, usage.Errorf(`--history %s: write item,item,"an item, with a comma"`, list)
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), nil
}
