package train

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// A run whose score is flat for a third of its steps ends and says so; a resumed one ends at the same step, and a
// score that falls slowly, or a share of 0, trains on.
func TestFlatScoresEndTheRun(t *testing.T) {
	for name, test := range map[string]struct {
		share float64
		score func(evaluation int) float64
		steps int
	}{
		"flat":         {0.33, func(i int) float64 { return -1 / float64(min(i, 3)) }, 260},
		"slow":         {0.33, func(i int) float64 { return -1 + 0.005*float64(i) }, 600},
		"within noise": {0.33, func(i int) float64 { return -1 + 1e-5*float64(i) }, 220},
		"off":          {0, func(int) float64 { return -1 }, 600},
		"worse":        {0.33, func(i int) float64 { return -float64(i) }, 220},
		"short":        {0.1, func(int) float64 { return -1 }, 120},
	} {
		dir := t.TempDir()
		evaluations, event, last := 0, "", 0
		p := regression(-1)
		p.Evaluate = func(context.Context, weights.Set) (float64, map[string]float64, error) {
			evaluations++
			return test.score(evaluations), nil, nil
		}
		c := settings()
		c.Flat, c.Steps = test.share, 600
		ctx, stop := context.WithCancel(t.Context())
		o := Options{Dir: dir, Data: "d", Resume: true, Watch: Observer{Step: func(r Record) {
			if last = r.Step; r.Event != "" {
				event = r.Event
			}
			if r.Step == 70 {
				stop()
			}
		}}}
		if _, err := Run(ctx, gradtest.Engine(t), p, c, o); !errors.Is(err, ErrInterrupted) {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := Run(t.Context(), gradtest.Engine(t), p, c, o); err != nil {
			t.Fatal(err)
		}
		if last != test.steps || strings.Contains(event, "flat since") != (test.steps < 600) {
			t.Errorf("%s: ended at step %d with %q, want step %d", name, last, event, test.steps)
		}
	}
}
