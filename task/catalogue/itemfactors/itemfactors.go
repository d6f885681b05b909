// Package itemfactors computes vectors of items from the sequences of a log: items that users take near each other get
// similar vectors. Fit sees the training part of the log only, Choose weighs the vectors against those of the content by
// predicting the items held out for validation.
package itemfactors

import (
	"errors"
	"math"

	"github.com/gritvq/gritvq/internal/lowrank"
)

// MaxRank is the number of factors that Fit computes. Choose takes the first of them.
const MaxRank = 128

// Sequences are the items of users, the oldest first, as rows of a catalogue.
type Sequences struct {
	Items int // rows of the catalogue
	Users []User
	// Repeats says that users take items again, so that items of a history may be the next one too.
	Repeats bool
}

// User is one sequence. A user with a validation item has the history Train before it.
type User struct {
	Train      []int32
	Validation int32 // -1 if there is none
}

// Factors are vectors of items.
type Factors struct {
	Rank   int
	Values []float32 // [Items, Rank], leading factors first; 0 for items that do not occur in training
}

// Fit computes at most MaxRank factors: the leading singular vectors, times their values, of the positive pointwise mutual information of
// items that follow each other within a few places, with smoothed contexts (Levy and Goldberg 2014) and less weight for pairs
// that occur rarely. Items that occur have a mean of 0 and a mean squared length of 1. The result depends on the training
// parts alone.
func Fit(s *Sequences) (*Factors, error) {
	m := pairs(s)
	vectors, values, err := lowrank.RightVectors(m, MaxRank)
	if err != nil {
		return nil, err
	}
	rank := 0
	for rank < len(values) && values[rank] > 0 {
		rank++
	}
	if rank == 0 {
		return nil, errors.New("no two items follow each other in its training part")
	}
	f := &Factors{Rank: rank, Values: make([]float32, s.Items*rank)}
	known := s.occurring()
	centre := make([]float64, rank)
	count := 0.0
	for item, occurs := range known {
		if !occurs {
			continue
		}
		count++
		for j := range centre {
			centre[j] += vectors[item*MaxRank+j] * values[j]
		}
	}
	squares := 0.0
	for item, occurs := range known {
		for j := 0; occurs && j < rank; j++ {
			x := vectors[item*MaxRank+j]*values[j] - centre[j]/count
			squares += x * x
			f.Values[item*rank+j] = float32(x)
		}
	}
	if squares > 0 {
		f.scale(float32(math.Sqrt(count / squares)))
	}
	return f, nil
}

// First returns the first rank factors, times a weight.
func (f *Factors) First(rank int, weight float64) *Factors {
	rank = min(rank, f.Rank)
	part := &Factors{Rank: rank}
	for row := 0; row < len(f.Values); row += f.Rank {
		part.Values = append(part.Values, f.Values[row:row+rank]...)
	}
	part.scale(float32(weight))
	return part
}

func (f *Factors) scale(weight float32) {
	for i := range f.Values {
		f.Values[i] *= weight
	}
}

// Join appends the factors to vectors [Items, dim] of the content; dim may be 0.
func (f *Factors) Join(content []float32, dim int) []float32 {
	items := len(f.Values) / f.Rank
	joined := make([]float32, 0, items*(dim+f.Rank))
	for i := range items {
		joined = append(joined, content[i*dim:(i+1)*dim]...)
		joined = append(joined, f.Values[i*f.Rank:(i+1)*f.Rank]...)
	}
	return joined
}

func (s *Sequences) occurring() []bool {
	known := make([]bool, s.Items)
	for _, u := range s.Users {
		for _, item := range u.Train {
			known[item] = true
		}
	}
	return known
}
