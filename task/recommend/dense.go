package recommend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/task/recommend/classical"
	"github.com/gritvq/gritvq/weights"
)

// dense is the [Ranker] of a model that scores every item. Its lists are in the
// order of classical.Top; its ranks are exact, also among ties.
type dense struct {
	items       int
	counts      []float32 // [items] by which tied items are listed
	excludeSeen bool
	// each calls, from several goroutines, with the scores of all items for every
	// question; they are overwritten afterwards.
	each func(ctx context.Context, questions []Question, do func(i int, scores []float32)) error
}

// Update is not called: no classical model is trained in steps.
func (r *dense) Update(context.Context, weights.Set) error {
	return errors.New("a model that scores every item is made anew, not updated")
}

// Close does nothing.
func (r *dense) Close() {}

// Top implements Ranker.
func (r *dense) Top(ctx context.Context, questions []Question, k int) ([][]Scored, error) {
	if k < 1 {
		return nil, fmt.Errorf("%d items were asked for; ask for at least one", k)
	}
	lists := make([][]Scored, len(questions))
	if err := r.check(questions); err != nil {
		return nil, err
	}
	err := r.each(ctx, questions, func(i int, scores []float32) {
		var skip []int32
		if r.excludeSeen {
			skip = questions[i].History
		}
		for _, item := range classical.Top(scores, r.counts, min(k, r.items), skip) {
			lists[i] = append(lists[i], Scored{Item: item, Score: float64(scores[item])})
		}
	})
	return lists, err
}

// Ranks implements ExactRanker.
func (r *dense) Ranks(ctx context.Context, cases []Case) ([][]int, error) {
	ranks, questions := make([][]int, len(cases)), questionsOf(cases)
	if err := r.check(questions); err != nil {
		return nil, err
	}
	err := r.each(ctx, questions, func(i int, scores []float32) {
		ranks[i] = ranksAmong(scores, cases[i], r.excludeSeen)
	})
	return ranks, err
}

// ranksAmong returns the ranks of a case's relevant items among the scores of all
// items, or of those that are not in the history; 0 for relevant items that are.
func ranksAmong(scores []float32, c Case, excludeSeen bool) []int {
	all := make([]int, len(c.Relevant))
	var targets, places []int
	kept := scores
	if excludeSeen {
		seen := slices.Clone(c.History)
		slices.Sort(seen)
		kept = make([]float32, 0, len(scores))
		place := make(map[int32]int, len(c.Relevant))
		for item, next := int32(0), 0; int(item) < len(scores); item++ {
			for next < len(seen) && seen[next] < item {
				next++
			}
			if next < len(seen) && seen[next] == item {
				continue
			}
			if _, relevant := slices.BinarySearch(c.Relevant, item); relevant {
				place[item] = len(kept)
			}
			kept = append(kept, scores[item])
		}
		for i, item := range c.Relevant {
			if at, unseen := place[item]; unseen {
				targets, places = append(targets, at), append(places, i)
			}
		}
	} else {
		for i, item := range c.Relevant {
			targets, places = append(targets, int(item)), append(places, i)
		}
	}
	for i, rank := range eval.RanksOf(kept, targets) {
		all[places[i]] = rank
	}
	return all
}

// questionBlock is the number of questions that a goroutine answers at a time.
const questionBlock = 16

// check refuses an item outside the catalogue.
func (r *dense) check(questions []Question) error {
	for _, q := range questions {
		for _, item := range q.History {
			if item < 0 || int(item) >= r.items {
				return fmt.Errorf("item %d is not in the catalogue, which has %d items", item, r.items)
			}
		}
	}
	return nil
}

// eachQuestion makes the function each of one that scores all items of a catalogue for
// a question, which must be safe for concurrent use.
func eachQuestion(items int, score func(q Question, scores []float32)) func(
	ctx context.Context, questions []Question, do func(i int, scores []float32)) error {
	return func(ctx context.Context, questions []Question, do func(i int, scores []float32)) error {
		return parallel.Each((len(questions)+questionBlock-1)/questionBlock, 0, func(block int) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			scores := make([]float32, items)
			for i := block * questionBlock; i < min(len(questions), (block+1)*questionBlock); i++ {
				score(questions[i], scores)
				do(i, scores)
			}
			return nil
		})
	}
}
