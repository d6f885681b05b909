package recommend

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/cmd/gritvq/internal/models"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recommend"
)

// userScores is the output of recommend eval --json.
type userScores struct {
	Users     int `json:"users"`
	ColdUsers int `json:"cold_users"`
	*recommend.Evaluation
}

func newEval(s *cli.Streams) *cobra.Command {
	var o models.EvalFlags
	var log logFlags
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
	}
	f := cmd.Flags()
	log.add(cmd)
	f.IntVar(&o.Depth, "beam", 0, "length of the lists, and beams of a generative model; metrics beyond it are not reported\n"+
		"(default 50 beams, lists of 100 of a dual encoder)")
	f.StringVar(&o.Ranks, "per-user", "", "file of every user's rank and scores: .parquet or .csv")
	f.IntVar(&o.Cold, "cold", 5, "items seen at most so often in training are scored apart too")
	o.Add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if o.Depth < 0 || o.Cold < 0 {
			return usage.Errorf("--beam and --cold must not be negative")
		}
		o.Dir = args[0]
		if o.Source, err = log.source(args[1]); err != nil {
			return err
		}
		e, err := o.Run(cmd.Context(), s)
		if err != nil {
			return explainColumns(err)
		}
		if o.JSON {
			return s.WriteJSON(userScores{e.Questions, e.ColdQuestions, e})
		}
		return models.ShowEvaluation(s, e,
			fmt.Sprintf("%s whose item occurs at most %d times in training:", report.Counted(e.ColdQuestions, "user"), o.Cold))
	}
	return cmd
}
