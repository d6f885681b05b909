package table

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/gritvq/gritvq/eval"
)

// Scores are values by the names of measures. A score that is missing or not
// finite was not measured. Rates and shares are fractions.
type Scores map[string]float64

// Record is one scored run.
type Record struct {
	Method  string
	Setting string // a setting that distinguishes groups, such as the number of codes
	Seed    uint64
	Scores  Scores
}

// Stat is a score over seeds.
type Stat struct {
	Mean float64
	Std  float64 // sample standard deviation; NaN for one seed
	N    int     // seeds; 0: not measured, and Mean is NaN
}

// MarshalJSON writes {"mean": .., "std": ..}; values that are not finite are null.
func (s Stat) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]*float64{"mean": Finite(s.Mean), "std": Finite(s.Std)})
}

// Finite returns a pointer to x, or nil if x is NaN or infinite.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Group is the records of one method at one setting, by seed.
type Group struct {
	Method, Setting string
	Records         []Record
}

// Collect groups records by method and setting, in the order of first appearance.
func Collect(records []Record) []Group {
	var groups []Group
	for _, r := range records {
		i := slices.IndexFunc(groups, func(g Group) bool { return g.Method == r.Method && g.Setting == r.Setting })
		if i < 0 {
			i = len(groups)
			groups = append(groups, Group{Method: r.Method, Setting: r.Setting})
		}
		groups[i].Records = append(groups[i].Records, r)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Records, func(a, b Record) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return groups
}

// Find returns the group of a method and setting, empty if there is none.
func Find(groups []Group, method, setting string) Group {
	for _, g := range groups {
		if g.Method == method && g.Setting == setting {
			return g
		}
	}
	return Group{Method: method, Setting: setting}
}

// Score is a score over the seeds of the group.
func (g Group) Score(name string) Stat {
	var values []float64
	for _, r := range g.Records {
		if value, ok := r.score(name); ok {
			values = append(values, value)
		}
	}
	mean, std := eval.MeanStd(values)
	return Stat{mean, std, len(values)}
}

func (r Record) score(name string) (value float64, measured bool) {
	value, measured = r.Scores[name]
	return value, measured && Finite(value) != nil
}

func common(a, b Group, name string) (ofA, ofB []float64) {
	for _, r := range a.Records {
		for _, other := range b.Records {
			x, measured := r.score(name)
			y, both := other.score(name)
			if r.Seed == other.Seed && measured && both {
				ofA, ofB = append(ofA, x), append(ofB, y)
			}
		}
	}
	return ofA, ofB
}

// Typical is the root mean square of the groups' deviations over seeds, 0 if every group has one seed.
func Typical(groups []Group, name string) float64 {
	sum, n := 0.0, 0
	for _, g := range groups {
		if s := g.Score(name); s.N > 1 {
			sum += s.Std * s.Std
			n++
		}
	}
	return math.Sqrt(sum / float64(max(1, n)))
}
