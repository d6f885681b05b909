package itemfactors

import (
	"context"
	"math"
	"slices"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/parallel"
)

const (
	cutoff     = 10   // of the recall
	recent     = 5    // items of a history that are asked with; the item d places back counts 1/d
	mostUsers  = 2000 // that predict
	mostScores = 20e9 // multiplications of a trial, which bound the users further
	fewest     = 200  // users, however large the catalogue
	userBlock  = 64   // users that are scored at a time
)

// The weights and ranks that Choose tries.
var (
	gammas = []float64{0, 0.25, 0.5, 1, 2, 4}
	ranks  = []int{32, 64, MaxRank}
)

// Trial is a weight and a rank with the recall of validation items.
type Trial struct {
	Gamma  float64 `json:"gamma"`
	Rank   int     `json:"rank"`
	Recall float64 `json:"recall"`
}

// Choice is the result of Choose.
type Choice struct {
	Trial
	Users  int     `json:"users"` // that predicted
	Trials []Trial `json:"trials"`
}

// Choose weighs factors against vectors [Items, dim] of the content: the weight gamma multiplies factors that are as long as
// the content in the mean. It chooses gamma with all factors, then the rank, by the share of users whose validation item is among the
// 10 nearest to their last items. Without content (dim 0) it chooses the rank alone. Without validation items gamma is 1
// and the rank the largest.
func Choose(ctx context.Context, s *Sequences, f *Factors, content []float32, dim int) (*Choice, error) {
	users := s.predicting(dim + f.Rank)
	c := &Choice{Trial: Trial{Gamma: 1, Rank: f.Rank}, Users: len(users)}
	if len(users) == 0 {
		return c, nil
	}
	best := Trial{Recall: -1}
	base, length := centred(content, dim), Length(content, dim)
	try := func(gamma float64, rank int) error {
		vectors, width := slices.Clone(base), dim
		if gamma > 0 {
			part := f.First(rank, gamma*length)
			vectors, width = part.Join(base, dim), dim+part.Rank
		}
		recall, err := s.recall(ctx, users, vectors, width)
		t := Trial{gamma, rank, recall}
		c.Trials = append(c.Trials, t)
		if recall > best.Recall {
			best = t
		}
		return err
	}
	if dim > 0 {
		for _, gamma := range gammas {
			if err := try(gamma, f.Rank); err != nil {
				return nil, err
			}
		}
	}
	gamma := best.Gamma
	if dim == 0 {
		gamma = 1
		if err := try(gamma, f.Rank); err != nil {
			return nil, err
		}
	}
	for _, rank := range ranks {
		if gamma > 0 && rank < f.Rank {
			if err := try(gamma, rank); err != nil {
				return nil, err
			}
		}
	}
	c.Trial = best
	return c, nil
}

// Length is the root of the mean squared length of vectors [n, dim] around their mean; 1 if dim is 0 or they are equal.
func Length(vectors []float32, dim int) float64 {
	squares := 0.0
	for _, x := range centred(vectors, dim) {
		squares += float64(x) * float64(x)
	}
	if squares == 0 {
		return 1
	}
	return math.Sqrt(squares / float64(len(vectors)/dim))
}

func centred(vectors []float32, dim int) []float32 {
	mean := make([]float64, dim)
	for i, x := range vectors {
		mean[i%dim] += float64(x) / float64(len(vectors)/dim)
	}
	moved := make([]float32, len(vectors))
	for i, x := range vectors {
		moved[i] = x - float32(mean[i%dim])
	}
	return moved
}

// predicting returns users with validation items, evenly spaced, as many as a trial can afford.
func (s *Sequences) predicting(width int) []int {
	var all []int
	for i, u := range s.Users {
		if u.Validation >= 0 && len(u.Train) > 0 {
			all = append(all, i)
		}
	}
	most := min(mostUsers, max(fewest, int(mostScores/(float64(s.Items)*float64(width)))))
	if len(all) <= most {
		return all
	}
	chosen := make([]int, most)
	for i := range chosen {
		chosen[i] = all[i*len(all)/most]
	}
	return chosen
}

// recall is the share of users whose validation item is among the nearest to their last items, by the cosine. Items of the
// same score share their mean rank. It overwrites the vectors.
func (s *Sequences) recall(ctx context.Context, users []int, unit []float32, dim int) (float64, error) {
	for row := range slices.Chunk(unit, dim) {
		if length := math.Sqrt(index.Dot(row, row)); length > 0 {
			for j := range row {
				row[j] /= float32(length)
			}
		}
	}
	hits := make([]int, (len(users)+userBlock-1)/userBlock)
	err := parallel.Each(len(hits), 0, func(number int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		block := users[number*userBlock : min(len(users), (number+1)*userBlock)]
		queries := make([]float32, len(block)*dim)
		for i, user := range block {
			history := s.Users[user].Train
			for back := 1; back <= min(recent, len(history)); back++ {
				item := int(history[len(history)-back])
				for j, x := range unit[item*dim : (item+1)*dim] {
					queries[i*dim+j] += x / float32(back)
				}
			}
		}
		scores := make([]float32, len(block)*s.Items)
		index.Products(queries, len(block), unit, s.Items, dim, scores)
		for i, user := range block {
			if s.found(s.Users[user], scores[i*s.Items:(i+1)*s.Items]) {
				hits[number]++
			}
		}
		return nil
	})
	total := 0
	for _, n := range hits {
		total += n
	}
	return float64(total) / float64(len(users)), err
}

// found reports whether the validation item is in the list.
func (s *Sequences) found(u User, scores []float32) bool {
	own := scores[u.Validation]
	if !s.Repeats {
		for _, item := range u.Train {
			scores[item] = float32(math.Inf(-1))
		}
		scores[u.Validation] = own
	}
	better, equal := 0, 0
	for _, score := range scores {
		if score > own {
			better++
		} else if score == own {
			equal++
		}
	}
	return 2*better+equal+1 <= 2*cutoff
}
