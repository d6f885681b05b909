package recommender

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/learn"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/seqrec"
	"github.com/gritvq/gritvq/weights"
)

// Config is a whole experiment.
type Config struct {
	Model seqrec.Config `yaml:"model" doc:"The network."`
	Train learn.Config  `yaml:"train" doc:"The training run."`
	Users int           `yaml:"validation_users" doc:"Users scored at an evaluation during training (0: all)."`
	Beam  int           `yaml:"beam" doc:"Beams of the search behind an evaluation during training."`
}

// Default is the paper's network and schedule.
func Default() Config {
	return Config{
		Model: seqrec.Default(), Users: 2000, Beam: 20,
		Train: learn.Config{
			Seed: 1, Steps: 20000, Batch: 256, ClipNorm: 1, Evaluate: 1000, Patience: 5, Log: 100, Save: 500,
			Optimizer: optim.Optimizer{Name: "adamw", Rate: 1e-3, Decay: 0.01, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
			Schedule:  optim.Schedule{Kind: "inverse-sqrt", Warmup: 1000},
		},
	}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if c.Users < 0 || c.Beam < 1 {
		return fmt.Errorf("validation_users must not be negative and beam at least 1")
	}
	if err := c.Model.Validate(); err != nil {
		return err
	}
	return c.Train.Validate()
}

// Train learns to continue the sequences of a dataset in dir, which holds the
// checkpoint and the log. Early stopping goes by NDCG@10 of the validation items.
func Train(ctx context.Context, backend compute.Backend, d *Dataset, vocab []int, c Config, fingerprint, dir string, resume bool, watch learn.Observer) (*seqrec.Model, weights.Set, error) {
	if err := c.Validate(); err != nil {
		return nil, nil, err
	}
	m, err := seqrec.New(c.Model, vocab)
	if err != nil {
		return nil, nil, err
	}
	batches, err := d.batches(m, c.Train.Batch, c.Train.Seed)
	if err != nil {
		return nil, nil, err
	}
	hash, err := config.Hash(c)
	if err != nil {
		return nil, nil, err
	}
	problem := learn.Problem{
		Identity: hash + " " + fingerprint,
		Init:     func() weights.Set { return m.Init(c.Train.Seed) },
		Batch:    batches,
		Loss: func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node {
			return m.Loss(v, inputs, nn.NewRandom(random))
		},
		Evaluate: func(ctx context.Context, set weights.Set) (float64, map[string]float64, error) {
			r, err := Rank(ctx, backend, m, set, d, Validation, RankOptions{Beam: c.Beam, Users: c.Users})
			if err != nil {
				return 0, nil, err
			}
			scores := r.Mean(10)
			return scores.NDCG, map[string]float64{"recall@10": scores.Recall, "ndcg@10": scores.NDCG}, nil
		},
	}
	set, err := learn.Run(ctx, backend, problem, c.Train, dir, resume, watch)
	return m, set, err
}

// RankOptions refine Rank.
type RankOptions struct {
	Beam     int                   // lists are as long as this
	Users    int                   // at most so many, evenly spaced; 0 means all
	Progress func(done, total int) // may be nil
}

// rankBlock is the number of users asked for between two reports of progress.
const rankBlock = 1024

// Rank asks for every user's held-out item and returns where it stands in the
// list that the model makes of the whole catalogue; 0 is nowhere.
func Rank(ctx context.Context, backend compute.Backend, m *seqrec.Model, set weights.Set, d *Dataset, part Part, o RankOptions) (*eval.Ranking, error) {
	searcher, err := seqrec.NewSearcher(backend, m, set, d.Items, seqrec.SearchOptions{Beam: o.Beam})
	if err != nil {
		return nil, err
	}
	defer searcher.Close()
	queries, targets, _ := d.queries(part, m.Config.History, o.Users)
	ranking := eval.NewRanking()
	for start := 0; start < len(queries); start += rankBlock {
		end := min(len(queries), start+rankBlock)
		lists, err := searcher.Recommend(ctx, queries[start:end], o.Beam)
		if err != nil {
			return nil, err
		}
		for i, list := range lists {
			rank := 0
			for place, item := range list {
				if item.Item == targets[start+i] {
					rank = place + 1
					break
				}
			}
			if err := ranking.Add(queries[start+i].User, rank); err != nil {
				return nil, err
			}
		}
		if o.Progress != nil {
			o.Progress(end, len(queries))
		}
	}
	return ranking, nil
}

// Cold marks the users of a part whose held-out item occurs at most so often in
// the training sequences, in the order of Rank's users.
func (d *Dataset) Cold(part Part, atMost int) []bool {
	counts := d.log.TrainCounts()
	var cold []bool
	for u := range d.log.Users() {
		held := d.log.Validation
		if part == Test {
			held = d.log.Test
		}
		if _, target, ok := held(u); ok {
			cold = append(cold, counts[target] <= atMost)
		}
	}
	return cold
}
