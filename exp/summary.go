package exp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gritvq/gritvq/eval"
)

// tieShare is the relative difference below which methods count as tied where
// one seed leaves no interval to judge by.
const tieShare = 0.005

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

// Difference compares a method's held-out relative error with the best one's, on
// the seeds both have.
type Difference struct {
	Mean    float64  `json:"mean"`    // method - best
	Percent float64  `json:"percent"` // of the best one's error
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
	Method string `json:"method"`
	Point
	Rank  int      `json:"rank"` // by error, from 1, among the methods of the point
	Best  bool     `json:"best"` // least error of the point
	Tied  bool     `json:"tied"` // cannot be told from the best
	Seeds []uint64 `json:"seeds"`

	BitsPerVector   float64 `json:"bits_per_vector"`
	Parameters      int     `json:"parameters"`
	MSE             Stat    `json:"mse"`
	RelativeError   Stat    `json:"relative_error"`
	Cosine          Stat    `json:"cosine"`
	Recall          Stat    `json:"recall_at_10"`
	Utilization     Stat    `json:"utilization"`
	UtilizationHeld Stat    `json:"utilization_held"`
	Perplexity      Stat    `json:"perplexity"`
	DeadCodes       Stat    `json:"dead_codes"`
	TrainSeconds    Stat    `json:"train_seconds"`
	EncodeRate      Stat    `json:"encode_rate"`
	DecodeRate      Stat    `json:"decode_rate"`

	Difference *Difference `json:"difference"`         // from the best; null for the best itself
	Failures   []Failure   `json:"failures,omitempty"` // seeds that failed, where others did not
	Cells      []string    `json:"cells"`
	Error      string      `json:"-"` // why every seed failed

	records []Record // that succeeded, by seed
}

// MarshalJSON writes a method that failed as {"method", "codes", "levels",
// "parts", "error"}, without scores.
func (s Summary) MarshalJSON() ([]byte, error) {
	if s.Error != "" {
		return json.Marshal(struct {
			Method string `json:"method"`
			Point
			Error string `json:"error"`
		}{s.Method, s.Point, s.Error})
	}
	type plain Summary
	return json.Marshal(plain(s))
}

// measures are the scores that are averaged over seeds.
var measures = []struct {
	name string
	of   func(Scores) float64
	in   func(*Summary) *Stat
}{
	{"mse", func(s Scores) float64 { return s.MSE }, func(s *Summary) *Stat { return &s.MSE }},
	{"relative_error", func(s Scores) float64 { return s.RelativeError }, func(s *Summary) *Stat { return &s.RelativeError }},
	{"cosine", func(s Scores) float64 { return s.Cosine }, func(s *Summary) *Stat { return &s.Cosine }},
	{"recall_at_10", func(s Scores) float64 { return s.Recall }, func(s *Summary) *Stat { return &s.Recall }},
	{"utilization", func(s Scores) float64 { return s.Utilization }, func(s *Summary) *Stat { return &s.Utilization }},
	{"utilization_held", func(s Scores) float64 { return s.UtilizationHeld }, func(s *Summary) *Stat { return &s.UtilizationHeld }},
	{"perplexity", func(s Scores) float64 { return s.Perplexity }, func(s *Summary) *Stat { return &s.Perplexity }},
	{"dead_codes", func(s Scores) float64 { return float64(s.DeadCodes) }, func(s *Summary) *Stat { return &s.DeadCodes }},
	{"train_seconds", func(s Scores) float64 { return s.TrainSeconds }, func(s *Summary) *Stat { return &s.TrainSeconds }},
	{"encode_rate", func(s Scores) float64 { return s.EncodeRate }, func(s *Summary) *Stat { return &s.EncodeRate }},
	{"decode_rate", func(s Scores) float64 { return s.DecodeRate }, func(s *Summary) *Stat { return &s.DecodeRate }},
}

// Summarize averages records over seeds and ranks the methods of every point by
// held-out relative error, best first; methods that failed with every seed come
// last. Points keep the order in which they first appear.
func Summarize(records []Record) ([]Summary, error) {
	var summaries []Summary
	at := map[string]int{}
	order := map[Point]int{}
	for _, r := range records {
		key := fmt.Sprint(r.Method, r.Point)
		i, seen := at[key]
		if !seen {
			i = len(summaries)
			at[key] = i
			summaries = append(summaries, Summary{Method: r.Method, Point: r.Point})
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
	slices.SortStableFunc(summaries, func(a, b Summary) int {
		return cmp.Or(cmp.Compare(order[a.Point], order[b.Point]), cmp.Compare(len(a.Error), 0)-cmp.Compare(len(b.Error), 0),
			cmp.Compare(a.RelativeError.Mean, b.RelativeError.Mean), cmp.Compare(a.Method, b.Method))
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
	for _, m := range measures {
		var values []float64
		for _, r := range s.records {
			values = append(values, m.of(r.Scores))
		}
		into := m.in(s)
		into.Mean, into.Std = eval.MeanStd(values)
	}
	for _, r := range s.records {
		s.Seeds, s.Cells = append(s.Seeds, r.Seed), append(s.Cells, r.ID)
	}
	s.BitsPerVector, s.Parameters = s.records[0].Scores.BitsPerVector, s.records[0].Scores.Parameters
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

// compare tests the errors of s against those of the best, pair by pair of
// seeds.
func (s *Summary) compare(best Summary) error {
	var mine, theirs []float64
	for _, r := range s.records {
		for _, other := range best.records {
			if r.Seed == other.Seed {
				mine, theirs = append(mine, r.Scores.RelativeError), append(theirs, other.Scores.RelativeError)
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
		s.Tied = d.Mean == 0 || math.Abs(d.Mean) < tieShare*reference
	}
	if reference > 0 {
		d.Percent = 100 * d.Mean / reference
	}
	s.Difference = d
	return nil
}
