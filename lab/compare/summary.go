package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/eval"
)

// Stat is a score over seeds.
type Stat struct {
	Mean float64
	Std  float64 // sample standard deviation; NaN for one seed
}

// MarshalJSON writes {"mean": .., "std": ..}; what is not a number is null.
func (s Stat) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]*float64{"mean": finite(s.Mean), "std": finite(s.Std)})
}

func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// Difference compares a method's deciding score with the best one's, on the
// seeds both have.
type Difference struct {
	Mean    float64  `json:"mean"`    // method - best
	Percent float64  `json:"percent"` // of the best one's score
	Low     *float64 `json:"low"`     // 95 % interval of the mean; null for one seed
	High    *float64 `json:"high"`
	P       *float64 `json:"p"` // of the paired t test
	Seeds   int      `json:"seeds"`
}

// Failure is a seed with which a method failed.
type Failure struct {
	Seed  uint64 `json:"seed"`
	Error string `json:"error"`
}

// Summary is one method at one point, over seeds.
type Summary struct {
	Method string
	Point
	Rank  int  // by the deciding score, from 1, among the methods of the point
	Best  bool // of the point
	Tied  bool // cannot be told from the best
	Seeds []uint64

	Scores     map[string]Stat // by the names of the kind's measures; absent where never measured
	Difference *Difference     // from the best; nil for the best itself
	Failures   []Failure       // seeds that failed, where others did not
	Cells      []string
	Error      string // why every seed failed

	kind    *Kind
	records []Record // that succeeded, by seed
}

// Score is a score over seeds; of one that was never measured the mean is NaN.
func (s Summary) Score(name string) Stat {
	if stat, measured := s.Scores[name]; measured {
		return stat
	}
	return Stat{math.NaN(), math.NaN()}
}

// deciding is the mean of the score that ranks.
func (s Summary) deciding() float64 { return s.Score(s.kind.Decide.Measure).Mean }

// MarshalJSON writes the scores beside the other fields, fixed ones as plain
// numbers. A method that failed is {"method", "codes", "levels", "parts",
// "error"}.
func (s Summary) MarshalJSON() ([]byte, error) {
	fields := []field{{"method", s.Method}, {"codes", s.Codes}, {"levels", s.Levels}, {"parts", s.Parts}}
	if s.Error != "" {
		return object(append(fields, field{"error", s.Error}))
	}
	fields = append(fields, field{"rank", s.Rank}, field{"best", s.Best}, field{"tied", s.Tied}, field{"seeds", s.Seeds})
	for _, m := range s.kind.filed() {
		stat := s.Score(m.Name)
		if m.Fixed {
			fields = append(fields, field{m.Name, finite(stat.Mean)})
		} else {
			fields = append(fields, field{m.Name, stat})
		}
	}
	fields = append(fields, field{"difference", s.Difference})
	if len(s.Failures) > 0 {
		fields = append(fields, field{"failures", s.Failures})
	}
	return object(append(fields, field{"cells", s.Cells}))
}

// field is a name and a value of a JSON object.
type field struct {
	name  string
	value any
}

// object writes a JSON object whose fields keep their order.
func object(fields []field) ([]byte, error) {
	out := []byte{'{'}
	for i, f := range fields {
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(strconv.AppendQuote(out, f.name), ':'), value...)
	}
	return append(out, '}'), nil
}

// Summarize averages records over seeds and ranks the methods of every point by
// the deciding score, best first; methods that failed with every seed come last.
// Points keep the order in which they first appear.
func (k *Kind) Summarize(records []Record) ([]Summary, error) {
	var summaries []Summary
	at := map[string]int{}
	order := map[Point]int{}
	for _, r := range records {
		key := fmt.Sprint(r.Method, r.Point)
		i, seen := at[key]
		if !seen {
			i = len(summaries)
			at[key] = i
			summaries = append(summaries, Summary{Method: r.Method, Point: r.Point, kind: k})
		}
		if _, seen := order[r.Point]; !seen {
			order[r.Point] = len(order)
		}
		s := &summaries[i]
		if r.Error != "" {
			s.Failures = append(s.Failures, Failure{r.Seed, r.Error})
			continue
		}
		s.records = append(s.records, r)
	}
	for i := range summaries {
		summaries[i].average()
	}
	goal := k.deciding().Goal
	slices.SortStableFunc(summaries, func(a, b Summary) int {
		better := cmp.Compare(a.deciding(), b.deciding())
		if goal == Higher {
			better = -better
		}
		return cmp.Or(cmp.Compare(order[a.Point], order[b.Point]), cmp.Compare(len(a.Error), 0)-cmp.Compare(len(b.Error), 0),
			better, cmp.Compare(a.Method, b.Method))
	})
	return summaries, rank(summaries)
}

// average fills in the scores over seeds.
func (s *Summary) average() {
	if len(s.records) == 0 {
		s.Error, s.Failures = s.Failures[0].Error, nil
		return
	}
	slices.SortFunc(s.records, func(a, b Record) int { return cmp.Compare(a.Seed, b.Seed) })
	s.Scores = map[string]Stat{}
	for _, m := range s.kind.Measures {
		var values []float64
		for _, r := range s.records {
			if value, measured := r.Scores[m.Name]; measured {
				values = append(values, value)
			}
		}
		if len(values) > 0 {
			mean, std := eval.MeanStd(values)
			s.Scores[m.Name] = Stat{mean, std}
		}
	}
	for _, r := range s.records {
		s.Seeds, s.Cells = append(s.Seeds, r.Seed), append(s.Cells, r.ID)
	}
}

// rank numbers sorted summaries within their points and compares each with the
// first.
func rank(summaries []Summary) error {
	best := 0
	for i := range summaries {
		s := &summaries[i]
		if s.Point != summaries[best].Point {
			best = i
		}
		if s.Error != "" {
			continue
		}
		s.Rank = i - best + 1
		if i == best {
			s.Best = true
			continue
		}
		if err := s.compare(summaries[best]); err != nil {
			return fmt.Errorf("comparing %s with %s: %w", s.Method, summaries[best].Method, err)
		}
	}
	return nil
}

// compare tests the deciding scores of s against those of the best, pair by pair of
// seeds.
func (s *Summary) compare(best Summary) error {
	var mine, theirs []float64
	decide := s.kind.Decide
	for _, r := range s.records {
		for _, other := range best.records {
			if r.Seed == other.Seed {
				mine, theirs = append(mine, r.Scores[decide.Measure]), append(theirs, other.Scores[decide.Measure])
			}
		}
	}
	if len(mine) == 0 {
		return nil
	}
	reference, _ := eval.MeanStd(theirs)
	mean, _ := eval.MeanStd(mine)
	d := &Difference{Mean: mean - reference, Seeds: len(mine)}
	if len(mine) > 1 {
		test, err := eval.Paired(mine, theirs)
		if err != nil {
			return err
		}
		d.Mean, d.Low, d.High, d.P = test.MeanDifference, &test.Low, &test.High, finite(test.P)
		s.Tied = test.Low <= 0 && test.High >= 0
	} else {
		s.Tied = decide.tied(d.Mean, reference)
	}
	if reference > 0 {
		d.Percent = 100 * d.Mean / reference
	}
	s.Difference = d
	return nil
}
