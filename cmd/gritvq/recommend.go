package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/task/recommend"
)

// recommendTrainOptions is the command line of recommend train.
type recommendTrainOptions struct {
	modelTraining
	ids   string
	log   logOptions
	model string
}

// recommendCommands are what the subcommands of recommend run.
type recommendCommands struct {
	train        func(context.Context, *cli.Streams, recommendTrainOptions) error
	eval         func(context.Context, *cli.Streams, recommendEvalOptions) error
	ask          func(context.Context, *cli.Streams, recommendAskOptions) error
	significance func(*cli.Streams, significanceOptions) error
}

func newRecommendCommand(s *cli.Streams, run recommendCommands) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recommend",
		Short: "Train, score and ask a recommender over semantic IDs",
		Long: `A generative recommender reads a user's last items as semantic IDs and writes the ID
of the next one, code by code; a beam search that follows the IDs in use makes every
answer an item of the catalogue. A dual encoder makes a vector of the same history and
one of every item, and finds the items of the largest inner product: less to train,
and a thousand answers a second.`,
		Example: `  gritvq ids item_emb.npy --items items.jsonl -o ids
  gritvq recommend train ids sequences.txt -o rec
  gritvq recommend train ids sequences.txt -o dual --model dual
  gritvq recommend eval rec sequences.txt --per-user users.parquet
  gritvq recommend ask rec --history 12,845,77 -k 10
  gritvq recommend significance a.parquet b.parquet`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return cli.UnknownCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(newRecommendTrain(s, run.train), newRecommendEval(s, run.eval), newRecommendAsk(s, run.ask), newSignificance(s, run.significance))
	return cmd
}

func newRecommendTrain(s *cli.Streams, run func(context.Context, *cli.Streams, recommendTrainOptions) error) *cobra.Command {
	var o recommendTrainOptions
	cmd := &cobra.Command{
		Use:   "train IDS LOG -o DIR",
		Short: "Train a recommender on who took what",
		Long: `Learns to continue the sequences of a log: sequences.txt (a user a line: user item item
...), .csv, .tsv or .parquet of (user, item, time), or synthetic:shop. Of every user
the last item is kept for testing and the one before for validation, by which training
stops early. IDS is a directory made by gritvq ids. --core 5 keeps to users and items
of at least five interactions; give eval the same.

The default network and budget are made for a GPU: on a few cores they take hours.
There, start with a smaller network and fewer steps, as in the last example.`,
		Example: `  gritvq recommend train ids sequences.txt -o rec
  gritvq recommend train ids sequences.txt -o dual --model dual --steps 5000
  gritvq recommend train ids log.csv -o rec --core 5 --steps 5000 --set model.layers=2
  gritvq recommend train ids events.csv -o rec --columns visitorid,itemid,timestamp
  gritvq recommend train ids log.csv -o rec --steps 1200 --batch 128 --set model.layers=2 --set model.width=64 \
    --set model.feed_forward=256 --set model.heads=4 --set model.head_dim=16 --set model.history=8 --set train.optimizer.rate=0.003`,
		Args: cli.Arguments("IDS", "LOG"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ids, o.log.path = args[0], args[1]
			if err := cli.RequireOutput(o.output, "rec"); err != nil {
				return err
			}
			return run(cmd.Context(), s, o)
		},
	}
	o.addFlags(cmd, "recommender")
	o.log.add(cmd)
	cmd.Flags().StringVar(&o.model, "model", recommend.Kinds()[0], "kind of model: "+strings.Join(recommend.Kinds(), " or "))
	return cmd
}

// recommendEvalOptions is the command line of recommend eval.
type recommendEvalOptions struct {
	dir     string
	log     logOptions
	beam    int
	search  searchFlags
	perUser string
	cold    int
	backend string
	workers int
	json    bool
}

func newRecommendEval(s *cli.Streams, run func(context.Context, *cli.Streams, recommendEvalOptions) error) *cobra.Command {
	var o recommendEvalOptions
	cmd := &cobra.Command{
		Use:   "eval DIR LOG",
		Short: "Score a recommender on every user's last item",
		Long: `Asks for the last item of every user, given those before, and reports recall, NDCG and
MRR over the whole catalogue, also for items that training hardly saw. --per-user keeps
every user's rank, for gritvq recommend significance.`,
		Example: `  gritvq recommend eval rec sequences.txt
  gritvq recommend eval rec sequences.txt --per-user users.parquet --json
  gritvq recommend eval dual sequences.txt --beam 100 --search hnsw`,
		Args: cli.Arguments("DIR", "LOG"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir, o.log.path = args[0], args[1]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	o.log.add(cmd)
	f.IntVar(&o.beam, "beam", 0, "length of the lists, and beams of a generative model; metrics beyond it are not reported\n(default 50 beams, lists of 100 of a dual encoder)")
	o.search.add(cmd)
	f.StringVar(&o.perUser, "per-user", "", "file of every user's rank and scores: .parquet or .csv")
	f.IntVar(&o.cold, "cold", 5, "items seen at most so often in training are scored apart too")
	cli.WorkersFlag(cmd, &o.workers)
	cli.JSONFlag(cmd, &o.json, "the scores as")
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}

// recommendAskOptions is the command line of recommend ask.
type recommendAskOptions struct {
	dir     string
	history string
	user    string
	count   int
	beam    int
	search  searchFlags
	seen    bool
	backend string
	json    bool
}

func newRecommendAsk(s *cli.Streams, run func(context.Context, *cli.Streams, recommendAskOptions) error) *cobra.Command {
	var o recommendAskOptions
	cmd := &cobra.Command{
		Use:   "ask DIR --history ITEM,ITEM,...",
		Short: "Ask what comes next",
		Long: `Prints the best next items after a history, the latest item last, and the time that an
answer takes once the recommender is loaded. Without a history it answers for someone
new.`,
		Example: `  gritvq recommend ask rec --history 12,845,77 -k 10
  gritvq recommend ask rec --history 12,845,77 --seen --json
  gritvq recommend ask rec --history 12,845,77 --ids ids # also items that were added since`,
		Args: cli.Arguments("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.dir = args[0]
			return run(cmd.Context(), s, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.history, "history", "", "items that the user took, the latest last")
	f.StringVar(&o.user, "user", "", "the user, if known to the recommender")
	f.IntVarP(&o.count, "count", "k", 10, "items to recommend")
	f.IntVar(&o.beam, "beam", 20, "beams of a generative model, at least as many as items")
	o.search.add(cmd)
	f.BoolVar(&o.seen, "seen", false, "also recommend items of the history")
	cli.JSONFlag(cmd, &o.json, "")
	cli.BackendFlag(cmd, &o.backend)
	return cmd
}

// significanceOptions is the command line of recommend significance.
type significanceOptions struct {
	a, b string
	json bool
}

func newSignificance(s *cli.Streams, run func(*cli.Streams, significanceOptions) error) *cobra.Command {
	var o significanceOptions
	cmd := &cobra.Command{
		Use:   "significance A B",
		Short: "Test whether two recommenders differ",
		Long: `Compares two evaluations user by user, or search by search, from the files that
eval --per-user or --per-query wrote: paired t test, Wilcoxon's signed-rank test and
bootstrap interval of the difference.`,
		Example: `  gritvq recommend significance a/users.parquet b/users.parquet`,
		Args:    cli.Arguments("A", "B"),
		RunE: func(_ *cobra.Command, args []string) error {
			o.a, o.b = args[0], args[1]
			return run(s, o)
		},
	}
	cli.JSONFlag(cmd, &o.json, "")
	return cmd
}
