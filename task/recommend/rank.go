package recommend

import (
	"context"
	"slices"
	"time"

	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// rankBlock is the number of questions between two reports of progress.
const rankBlock = 1024

// Rank asks the questions of a part, at most limit of them (0: all), and returns
// the ranks of their relevant items in lists of length depth over the whole
// catalogue; 0 is not found. Items of the same score share their mean ranks, as in
// eval.RanksOf.
func Rank(ctx context.Context, ranker Ranker, d *Dataset, part Part, depth, limit int, w task.Watcher) (*eval.Ranking, error) {
	cases := d.Cases(part, limit)
	if len(cases) == 0 {
		return nil, d.nobody()
	}
	line := w.Line(len(cases), d.purpose.questions)
	defer line.Done()
	ranking := eval.NewRanking()
	ranking.Depth = depth
	for start := 0; start < len(cases); start += rankBlock {
		block := cases[start:min(len(cases), start+rankBlock)]
		ranks, err := ranksOf(ctx, ranker, block, depth)
		if err != nil {
			return nil, err
		}
		for i, own := range ranks {
			if err := ranking.Add(block[i].Name, own...); err != nil {
				return nil, err
			}
		}
		line.Update(int64(start+len(block)), "scored")
	}
	return ranking, nil
}

// ranksOf returns the ranks of cases, 0 beyond depth.
func ranksOf(ctx context.Context, ranker Ranker, cases []Case, depth int) ([][]int, error) {
	if exact, ok := ranker.(ExactRanker); ok {
		ranks, err := exact.Ranks(ctx, cases)
		for _, own := range ranks {
			for i, rank := range own {
				if rank > depth {
					own[i] = 0
				}
			}
		}
		return ranks, err
	}
	lists, err := ranker.Top(ctx, questionsOf(cases), depth)
	ranks := make([][]int, len(lists))
	for i, list := range lists {
		ranks[i] = ranksIn(list, cases[i].Relevant)
	}
	return ranks, err
}

func questionsOf(cases []Case) []Question {
	questions := make([]Question, len(cases))
	for i, c := range cases {
		questions[i] = c.Question
	}
	return questions
}

// ranksIn returns the ranks of items in a list, 0 for items that it lacks.
func ranksIn(list []Scored, relevant []int32) []int {
	places, scores := make(map[int32]int, len(list)), make([]float64, len(list))
	for place, found := range list {
		places[found.Item], scores[place] = place, found.Score
	}
	var hits, at []int // relevant items in the list, and their places
	for i, item := range relevant {
		if place, found := places[item]; found {
			hits, at = append(hits, i), append(at, place)
		}
	}
	ranks := make([]int, len(relevant))
	for i, rank := range eval.RanksOf(scores, at) {
		ranks[hits[i]] = rank
	}
	return ranks
}

// ranker starts an engine and prepares the model's answers.
func (r *Recommender) ranker(ctx context.Context, backend string, o network.Options) (Ranker, error) {
	started, err := engine.Choose(backend)
	if err != nil {
		return nil, err
	}
	return r.Model.Ranker(ctx, started, r.Weights, r.Catalogue, o)
}

// timeAnswers times n answers of a ranker, one by one, after one that warms up. It
// returns the median time of an answer and of the part spent in an index.
func timeAnswers(n int, ranker any, answer func(i int) error) (whole, lookup time.Duration, err error) {
	lookups := func() time.Duration { return 0 }
	if indexed, ok := ranker.(interface{ LookupTime() time.Duration }); ok {
		lookups = indexed.LookupTime
	}
	var answers, inIndex []time.Duration
	for i := range n {
		begun, before := time.Now(), lookups()
		if err := answer(i); err != nil {
			return 0, 0, err
		}
		if i > 0 || n == 1 {
			answers, inIndex = append(answers, time.Since(begun)), append(inIndex, lookups()-before)
		}
	}
	slices.Sort(answers)
	slices.Sort(inIndex)
	return answers[len(answers)/2], inIndex[len(inIndex)/2], nil
}
