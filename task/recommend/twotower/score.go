package twotower

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// Top returns for each question the k items of the largest inner product that the
// index finds, best first; fewer if the catalogue has no more. With a prior these and
// the items that it lists are scored together.
func (s *Retriever) Top(ctx context.Context, questions []network.Question, k int) ([][]network.Scored, error) {
	if s.ScoresAll() {
		return nil, fmt.Errorf("with a prior and an exact search, all items are scored")
	}
	if k < 1 {
		return nil, fmt.Errorf("%d items were asked for; ask for at least one", k)
	}
	vectors, err := s.vectors(ctx, questions)
	if err != nil {
		return nil, err
	}
	wanted := k
	for _, q := range questions {
		if s.options.ExcludeSeen {
			wanted = max(wanted, k+len(q.History))
		}
	}
	wanted = min(wanted, s.items.Len())
	found, scores := make([]uint32, len(questions)*wanted), make([]float32, len(questions)*wanted)
	begun := time.Now()
	s.index.Search(vectors, len(questions), wanted, found, scores, index.SearchOptions{Effort: s.options.Effort})
	s.lookups.Add(int64(time.Since(begun)))
	lists := make([][]network.Scored, len(questions))
	width := s.model.Config.Width
	for i, q := range questions {
		var all []network.Scored
		for j := i * wanted; j < (i+1)*wanted && found[j] != index.Missing; j++ {
			all = append(all, network.Scored{Item: int32(found[j]), Score: float64(scores[j])})
		}
		if s.model.start.Prior {
			all = s.withPrior(q, vectors[i*width:(i+1)*width], all)
		}
		for _, one := range all {
			if len(lists[i]) < k && (!s.options.ExcludeSeen || !slices.Contains(q.History, one.Item)) {
				lists[i] = append(lists[i], one)
			}
		}
	}
	return lists, nil
}

// withPrior adds the prior's scores to those of found items and of all items that it
// lists, best first.
func (s *Retriever) withPrior(q network.Question, vector []float32, found []network.Scored) []network.Scored {
	answer, base := s.options.Prior.Answer(q), s.options.Prior.Base()
	known := make(map[int32]bool, len(found))
	for i, one := range found {
		known[one.Item] = true
		found[i].Score += s.weight * float64(answer.Score(base, one.Item))
	}
	for i, item := range answer.Items {
		if known[item] {
			continue
		}
		score := s.weight * float64(answer.Scores[i])
		for j, x := range s.rows[int(item)*len(vector) : (int(item)+1)*len(vector)] {
			score += float64(x) * float64(vector[j])
		}
		found = append(found, network.Scored{Item: item, Score: score})
	}
	slices.SortFunc(found, func(a, b network.Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Item, b.Item))
	})
	return found
}

// ScoresAll says whether answers are by Scores instead of Top: the prior may name any
// item, so an exact search looks at all of them.
func (s *Retriever) ScoresAll() bool {
	return s.model.start.Prior && (s.options.Index == "" || s.options.Index == index.Kinds[0])
}

// keep keeps the vectors of the items.
func (s *Retriever) keep(rows []float32) {
	if s.matrix != nil {
		s.matrix.FinalizeAll()
	}
	s.rows, s.matrix = rows, tensors.FromFlatDataAndDimensions(rows, s.items.Len(), s.model.Config.Width)
}

// Scores calls, from several goroutines, with the scores of all items for every
// question. They are overwritten afterwards; there are Options.Questions times the
// number of items of them.
func (s *Retriever) Scores(ctx context.Context, questions []network.Question, do func(i int, scores []float32)) error {
	n, width, most := s.items.Len(), s.model.Config.Width, s.options.Questions
	for start := 0; start < len(questions); start += most {
		block := questions[start:min(len(questions), start+most)]
		vectors, err := s.vectors(ctx, block)
		if err != nil {
			return err
		}
		begun := time.Now()
		rows := most
		if len(block) == 1 {
			rows = 1
		}
		vectors = append(vectors, make([]float32, rows*width-len(vectors))...)
		queries := tensors.FromFlatDataAndDimensions(vectors, rows, width)
		out, err := s.product.Call1(queries, s.matrix)
		queries.FinalizeAll()
		if err != nil {
			return fmt.Errorf("scoring items: %w", err)
		}
		scores, err := tensors.CopyFlatData[float32](out)
		out.FinalizeAll()
		if err != nil {
			return err
		}
		eachExample(len(block), func(i int) {
			own := scores[i*n : (i+1)*n]
			s.addPrior(block[i], own)
			do(start+i, own)
		})
		s.lookups.Add(int64(time.Since(begun)))
	}
	return nil
}

// Shrink makes Scores multiply what was learned beside the prior by a factor, and Shrunk
// does so to variables. Nothing else may use the retriever meanwhile.
func (s *Retriever) Shrink(factor float64) { s.learned = float32(factor) }

// Shrunk are variables whose learned scores are those of set times a factor.
func Shrunk(set weights.Set, factor float64) weights.Set {
	shrunk := maps.Clone(set)
	projection := set["query/projection"].Clone()
	for i := range projection.Data {
		projection.Data[i] *= float32(factor)
	}
	shrunk["query/projection"] = projection
	return shrunk
}

// addPrior adds the prior's scores of all items.
func (s *Retriever) addPrior(q network.Question, scores []float32) {
	answer, base, weight := s.options.Prior.Answer(q), s.options.Prior.Base(), float32(s.weight)
	next := 0
	for item := range scores {
		prior := base[item]
		if next < len(answer.Items) && answer.Items[next] == int32(item) {
			prior = answer.Scores[next]
			next++
		}
		scores[item] = s.learned*scores[item] + weight*prior
	}
}
