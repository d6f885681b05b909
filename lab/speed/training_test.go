package speed

import (
	"strings"
	"testing"

	"github.com/gritvq/gritvq/lab/table"
)

// Two runs take turns to the end, and one that fails ends both.
func TestTrainingsTakeTurns(t *testing.T) {
	const steps = 12
	tiny := []string{"quantizer.levels=1", "quantizer.codes=8", "model.dim=4", "model.hidden=[8]", "train.batch=16"}
	cached := append([]string{"grit", "quantizer.cache.period=4", "quantizer.cache.gradient=accumulate", "quantizer.transform.rank=2"},
		tiny...)
	times, err := inTurns(t.Context(), "synthetic:manifold?rows=64&dim=8", steps, append([]string{"ste"}, tiny...), cached)
	if err != nil || len(times) != 2 || len(times[0]) != steps || len(times[1]) != steps {
		t.Fatalf("steps took %v, %v", times, err)
	}
	for i, list := range times {
		for step, seconds := range list {
			if seconds <= 0 {
				t.Errorf("run %d, step %d took %g s", i, step, seconds)
			}
		}
	}
	if _, err := inTurns(t.Context(), "synthetic:manifold?rows=64&dim=8", steps, append([]string{"ste"}, tiny...),
		[]string{"nothing"}); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("an unknown method: %v", err)
	}
}

// A machine that is three times slower in one round slows both sides of it.
func TestPairedRatiosAreOfTheSameRound(t *testing.T) {
	r := paired("step", []float64{1.1, 3.3, 1.3, 1.0}, []float64{1, 3, 1, 1}, 1.1)
	if r.Ratio < 1.0999 || r.Ratio > 1.1001 || r.Ours != table.Seconds(1.2) || r.Peer != table.Seconds(1) {
		t.Errorf("%+v", r)
	}
	if r := paired("step", []float64{2, 1, 1}, []float64{1, 1, 1}, 1); r.Ratio != 1 || !r.Holds {
		t.Errorf("%+v", r)
	}
	if r := paired("step", []float64{2, 2, 1}, []float64{1, 1, 1}, 1.5); r.Ratio != 2 || r.Holds {
		t.Errorf("%+v", r)
	}
}
