package picture

import (
	"fmt"
	"math"
	"strings"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/finitejson"
	"github.com/gritvq/gritvq/report"
)

// SetScores compare drawn pictures with real ones. Skipped scores are NaN or nil, and null in JSON.
type SetScores struct {
	KID             *eval.KernelInterval `json:"kid"`
	KIDHeld         *eval.KernelInterval `json:"kid_held"` // from held-out pictures
	Frechet         float64              `json:"frechet"`
	FrechetInfinity float64              `json:"frechet_infinity"`
	eval.Manifold
	Diversity      *Diversity `json:"diversity"`
	Nearest        *Nearest   `json:"nearest"`
	Samples        int        `json:"samples"`   // pictures
	Reference      int        `json:"reference"` // pictures
	Held           int        `json:"held"`      // pictures
	Damaged        int        `json:"damaged"`   // pictures of any set that cannot be read
	Size           int        `json:"size"`
	FeatureNetwork orNull     `json:"feature_network"` // of all scores but LPIPS
	LPIPSNetwork   orNull     `json:"lpips_network"`
	Skipped        []Skip     `json:"skipped"`
	Notes          []string   `json:"notes,omitempty"`
}

// Skip names scores that were not computed, and why.
type Skip struct {
	Scores []string `json:"scores"`
	Reason string   `json:"reason"`
}

// Diversity is the mean LPIPS of pairs of pictures that share none.
type Diversity struct {
	Mean           float64 `json:"mean"`
	StandardError  float64 `json:"standard_error"`
	Pairs          int     `json:"pairs"`
	Reference      float64 `json:"reference"` // the same of real pictures
	ReferenceError float64 `json:"reference_standard_error"`
}

// Nearest is how near samples are to the training picture that is nearest in feature space.
type Nearest struct {
	Percentile float64           `json:"percentile"` // of held-out distances, below which a sample counts as near
	Features   *NearestDistances `json:"features"`   // Euclidean
	LPIPS      *NearestDistances `json:"lpips"`      // of the same pairs
}

// NearestDistances are distances of samples to their nearest training picture. The last three fields are nil without
// held-out pictures.
type NearestDistances struct {
	Median     float64  `json:"median"`
	Least      float64  `json:"least"`
	HeldMedian *float64 `json:"held_median"`
	Threshold  *float64 `json:"held_threshold"` // the percentile of the held-out distances
	Share      *float64 `json:"share"`          // of the samples nearer than that
}

func emptyScores() *SetScores {
	nan := math.NaN()
	return &SetScores{Frechet: nan, FrechetInfinity: nan, Skipped: []Skip{},
		Manifold: eval.Manifold{Precision: nan, Recall: nan, Density: nan, Coverage: nan}}
}

type plainSetScores SetScores

// MarshalJSON writes skipped scores as null.
func (s SetScores) MarshalJSON() ([]byte, error) { return finitejson.Marshal(plainSetScores(s)) }

// UnmarshalJSON reads null as NaN.
func (s *SetScores) UnmarshalJSON(content []byte) error {
	return finitejson.Unmarshal(content, (*plainSetScores)(s))
}

// WhyKID says which score of a set to read first.
const WhyKID = "KID leads: its expectation does not depend on the number of pictures, " +
	"while the Frechet distance is too large for few of them."

// Table shows the scores.
func (s *SetScores) Table() report.Table {
	t := report.Table{Columns: []report.Column{{Name: "score", Align: report.Left}, {Name: "value", Align: report.Right},
		{Name: "meaning", Align: report.Left}}}
	add := func(name, meaning string, value float64, text string) {
		if !math.IsNaN(value) {
			t.Rows = append(t.Rows, report.Cells(name, text, meaning))
		}
	}
	number := func(v float64) string { return report.Number(v, 4) }
	for _, kid := range []struct {
		name, meaning string
		*eval.KernelInterval
	}{{"KID", "kernel distance, 95 % interval; 0: one distribution", s.KID}, {"KID, held out", "from held-out pictures", s.KIDHeld}} {
		if kid.KernelInterval != nil {
			add(kid.name, kid.meaning, kid.Mean,
				fmt.Sprintf("%s (%s to %s)", number(kid.Mean), report.Number(kid.Low, 3), report.Number(kid.High, 3)))
		}
	}
	add("Frechet distance", "of "+report.Count(s.Samples)+" and "+report.Count(s.Reference)+" pictures", s.Frechet, number(s.Frechet))
	add("Frechet distance, ∞", "extrapolated to infinitely many pictures", s.FrechetInfinity, number(s.FrechetInfinity))
	add("precision", "samples among real pictures", s.Precision, report.Percent(s.Precision, 1))
	add("recall", "real pictures among samples", s.Recall, report.Percent(s.Recall, 1))
	add("density", "real neighbourhoods around a sample; 1 is expected", s.Density, number(s.Density))
	add("coverage", "real pictures with a sample in their neighbourhood", s.Coverage, report.Percent(s.Coverage, 1))
	if d := s.Diversity; d != nil {
		add("diversity", "mean LPIPS of pairs; of real pictures "+report.PlusMinus(d.Reference, d.ReferenceError), d.Mean,
			report.PlusMinus(d.Mean, d.StandardError))
	}
	if s.Nearest != nil {
		for _, kind := range []struct {
			name string
			d    *NearestDistances
		}{{"features", s.Nearest.Features}, {"LPIPS", s.Nearest.LPIPS}} {
			d := kind.d
			if d == nil {
				continue
			}
			meaning := "median distance to the nearest training picture"
			if d.HeldMedian != nil {
				meaning += "; held out " + number(*d.HeldMedian)
			}
			add("nearest, "+kind.name, meaning, d.Median, number(d.Median))
			if d.Share != nil {
				add("near, "+kind.name, fmt.Sprintf("samples as near as %g %% of held-out pictures; expected %[1]g %%", s.Nearest.Percentile), *d.Share,
					report.Percent(*d.Share, 1))
			}
		}
	}
	return t
}

// Remarks are sentences to read with the table: which score leads, notes, and what was skipped.
func (s *SetScores) Remarks() []string {
	var lines []string
	if s.KID != nil {
		lines = append(lines, WhyKID)
	}
	lines = append(lines, s.Notes...)
	for _, skip := range s.Skipped {
		lines = append(lines, fmt.Sprintf("%s skipped: %s", strings.Join(skip.Scores, ", "), skip.Reason))
	}
	return lines
}
