package interactions

import (
	"hash/fnv"
	"slices"

	"github.com/gritvq/gritvq/dataset"
)

// Part is the purpose of a query: training, validation or testing.
type Part string

// The parts of a set of queries. A query is in exactly one, with all of its
// answers.
const (
	TrainPart      Part = "train"
	ValidationPart Part = "validation"
	TestPart       Part = "test"
)

// Query is a search and the products that answer it.
type Query struct {
	ID      string
	Text    string
	Answers []int32 // rows of the catalogue, ascending, at least one
	Part    Part
}

// Queries is a set of searches over one catalogue.
type Queries struct {
	Catalogue *Catalogue
	List      []Query
	// Unanswered counts queries that were left out because no product of the
	// catalogue answers them.
	Unanswered int
}

// heldTenths of queries are for validation, and as many for testing.
const heldTenths = 1

// partOf assigns a query to a part: 8 of 10 to training, by a hash of its text.
func partOf(seed uint64, text string) Part {
	switch tenth := textHash(seed, text) % 10; {
	case tenth < heldTenths:
		return TestPart
	case tenth < 2*heldTenths:
		return ValidationPart
	}
	return TrainPart
}

// textHash is the same on every machine.
func textHash(seed uint64, text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return dataset.Mix64(h.Sum64() ^ seed*0x9e3779b97f4a7c15)
}

// distinct sorts answers and drops repetitions.
func distinct(answers []int32) []int32 {
	slices.Sort(answers)
	return slices.Compact(answers)
}
