package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/lab/table"
)

// Failure is a seed with which a method failed.
type Failure struct {
	Seed  uint64 `json:"seed"`
	Error string `json:"error"`
}

// Summary is one method at one point, over seeds.
type Summary struct {
	table.Standing // by the deciding score, among the methods of the point
	Point
	Seeds    []uint64
	Failures []Failure // seeds that failed, if others did not
	Cells    []string
	Error    string // why every seed failed

	kind    *Kind
	records []Record // that succeeded, by seed
}

// Best says whether the method is the best of its point.
func (s Summary) Best() bool { return s.Rank == 1 }

// Tied says whether the method is tied with the best, by the rule of package table.
func (s Summary) Tied() bool { return s.Difference != nil && s.Difference.Tied }

// Summarize averages records over seeds and ranks the methods of every point, best first; methods that failed
// with every seed come last. Points stay in order of first appearance.
func (k *Kind) Summarize(records []Record) []Summary {
	var points []Point
	for _, r := range records {
		if !slices.Contains(points, r.Point) {
			points = append(points, r.Point)
		}
	}
	var summaries []Summary
	for _, p := range points {
		summaries = append(summaries, k.rank(p, slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Point != p }))...)
	}
	return summaries
}

func (k *Kind) rank(p Point, records []Record) []Summary {
	records = slices.SortedStableFunc(slices.Values(records), func(a, b Record) int { return cmp.Compare(a.Seed, b.Seed) })
	var scored []table.Record
	failures := map[string][]Failure{}
	for _, r := range records {
		if r.Error != "" {
			failures[r.Method] = append(failures[r.Method], Failure{r.Seed, r.Error})
		} else {
			scored = append(scored, table.Record{Method: r.Method, Seed: r.Seed, Scores: r.Scores})
		}
	}
	var summaries []Summary
	for _, s := range k.deciding().Rank(table.Collect(scored)) {
		m := Summary{Standing: s, Point: p, Failures: failures[s.Method], kind: k}
		delete(failures, s.Method)
		for _, r := range records {
			if r.Method == s.Method && r.Error == "" {
				m.Seeds, m.Cells, m.records = append(m.Seeds, r.Seed), append(m.Cells, r.ID), append(m.records, r)
			}
		}
		summaries = append(summaries, m)
	}
	for _, method := range slices.Sorted(maps.Keys(failures)) {
		standing := table.Standing{Group: table.Group{Method: method}}
		summaries = append(summaries, Summary{Standing: standing, Point: p, Error: failures[method][0].Error, kind: k})
	}
	return summaries
}

// MarshalJSON writes the scores beside the other fields, fixed ones as plain numbers.
func (s Summary) MarshalJSON() ([]byte, error) {
	fields := []field{{"method", s.Method}, {"codes", s.Codes}, {"levels", s.Levels}, {"parts", s.Parts}}
	if s.Error != "" {
		return object(append(fields, field{"error", s.Error}))
	}
	fields = append(fields, field{"rank", s.Rank}, field{"best", s.Best()}, field{"tied", s.Tied()}, field{"seeds", s.Seeds})
	for _, m := range s.kind.filed() {
		stat := s.Score(m.Name)
		if m.Fixed {
			fields = append(fields, field{m.Name, table.Finite(stat.Mean)})
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

// differenceText is "best", "+2.70%" or "+2.70% [+1.02, +4.35]"; ties have an =.
func (s Summary) differenceText() string {
	d := s.Difference
	if s.Best() {
		return "best"
	}
	if d == nil {
		return "no common seed"
	}
	value, unit, scale := d.Percent, "%", 0.0
	if d.Mean != 0 {
		scale = d.Percent / d.Mean
	}
	if s.kind.Unit != "" {
		value, unit, scale = d.Mean, " "+s.kind.Unit, 1
	}
	text := fmt.Sprintf("%+.2f%s", value, unit)
	if d.Low != nil && d.Mean != 0 {
		text += fmt.Sprintf(" [%+.2f, %+.2f]", scale**d.Low, scale**d.High)
	}
	if s.Tied() {
		text += " ="
	}
	return text
}

// plain writes a number in full, and nothing for one that is not finite.
func plain(x *float64) string {
	if x == nil || math.IsNaN(*x) || math.IsInf(*x, 0) {
		return ""
	}
	return strconv.FormatFloat(*x, 'g', -1, 64)
}
