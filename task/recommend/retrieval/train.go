package retrieval

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/task/recommend/modeldir"
	"github.com/gritvq/gritvq/task/recommend/twotower"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Config is a whole experiment.
type Config struct {
	Model twotower.Config `yaml:"model" doc:"The two networks."`
	Train train.Config    `yaml:"train" doc:"The training run."`
}

// Default is the paper's network and schedule, but for its 100,000 steps.
func Default() Config {
	model := twotower.Default()
	model.Length = 16
	return Config{Model: model, Train: train.Config{
		Seed: 1,
		Loop: train.Loop{
			Steps: 20000, Batch: 512, ClipNorm: 1, Evaluate: 1000, Patience: 5, Log: 100, Checkpoint: 500,
			Best: true, Keep: 2, Schedule: optim.Schedule{Kind: "cosine", Warmup: 2000},
		},
		Optimizer: optim.Optimizer{Name: "adamw", Rate: 1e-3, WeightDecay: 1e-4, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8},
	}}
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if err := c.Model.Validate(); err != nil {
		return err
	}
	if c.Train.Batch < 2 {
		return fmt.Errorf("train.batch: %d must be at least 2, for answers are told from the others of a batch", c.Train.Batch)
	}
	return c.Train.Validate()
}

// Trained is what training came to.
type Trained struct {
	*Retriever
	Seconds  float64   // of all sessions
	Searcher *Searcher // the caller closes it
}

// Train learns to find the answers of searches. Early stopping goes by NDCG@10
// of the searches for validation.
func Train(ctx context.Context, backend compute.Backend, d *Dataset, c Config, o train.Options) (*Trained, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m, err := twotower.New(c.Model, twotower.Words, d.Table.Vocab())
	if err != nil {
		return nil, err
	}
	batches, err := d.batches(m, c.Train.Batch, c.Train.Seed)
	if err != nil {
		return nil, err
	}
	hash, err := config.Hash(c)
	if err != nil {
		return nil, err
	}
	problem := train.Problem{
		Identity: fmt.Sprintf("%s %s %d", hash, kind, modeldir.Schema),
		Init:     func() weights.Set { return m.Init(c.Train.Seed) },
		Batch:    batches,
		Loss: func(v weights.Vars, inputs []*graph.Node, random *graph.Node) *graph.Node {
			return m.Loss(v, inputs, nn.NewRandom(random))
		},
	}
	r := &Retriever{Config: c, Model: m, Table: d.Table}
	open := func(ctx context.Context, set weights.Set) (*Searcher, error) {
		r.Weights = set
		return r.Searcher(ctx, backend, twotower.SearchOptions{})
	}
	score := func(ctx context.Context, searcher *Searcher) (float64, map[string]float64, error) {
		ranking, err := Rank(ctx, searcher, d, interactions.ValidationPart, RankOptions{Depth: 10})
		if err != nil {
			return 0, nil, err
		}
		scores := ranking.Mean(10)
		return scores.NDCG, map[string]float64{"recall@10": scores.Recall, "ndcg@10": scores.NDCG}, nil
	}
	result, searcher, err := train.RunServing(ctx, backend, problem, c.Train, o, open, score)
	if err != nil {
		return nil, err
	}
	r.Weights = result.Weights
	return &Trained{Retriever: r, Seconds: result.Seconds, Searcher: searcher}, nil
}

// RankOptions refine Rank.
type RankOptions struct {
	Depth    int                   // length of the lists
	Progress func(done, total int) // may be nil
}

// rankBlock is the number of searches made between two reports of progress.
const rankBlock = 1024

// Rank makes the searches of a part and returns where their answers stand in the
// lists that the searcher makes of the whole catalogue; 0 is nowhere. Items of
// the same score share their mean ranks, as in eval.RanksOf.
func Rank(ctx context.Context, searcher *Searcher, d *Dataset, part interactions.Part, o RankOptions) (*eval.Ranking, error) {
	queries, ranking := d.Queries(part), eval.NewRanking()
	ranking.Depth = o.Depth
	for start := 0; start < len(queries); start += rankBlock {
		block := queries[start:min(len(queries), start+rankBlock)]
		texts := make([]string, len(block))
		for i, query := range block {
			texts[i] = query.Text
		}
		lists, err := searcher.Find(ctx, texts, o.Depth)
		if err != nil {
			return nil, err
		}
		for i, list := range lists {
			if err := ranking.Add(block[i].ID, ranksIn(list, block[i].Answers)...); err != nil {
				return nil, err
			}
		}
		if o.Progress != nil {
			o.Progress(start+len(block), len(queries))
		}
	}
	return ranking, nil
}

// ranksIn returns the ranks of answers in a list, 0 for those it lacks.
func ranksIn(list []twotower.Scored, answers []int32) []int {
	places, scores := map[int32]int{}, make([]float64, len(list))
	for place, found := range list {
		places[found.Item], scores[place] = place, found.Score
	}
	var hits, at []int // answers that are in the list, and their places
	for i, answer := range answers {
		if place, found := places[answer]; found {
			hits, at = append(hits, i), append(at, place)
		}
	}
	ranks := make([]int, len(answers))
	for i, rank := range eval.RanksOf(scores, at) {
		ranks[hits[i]] = rank
	}
	return ranks
}
