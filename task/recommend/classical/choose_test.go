package classical

import (
	"errors"
	"testing"
)

// The best alternative wins, and its scorer is that of its settings.
func TestChoose(t *testing.T) {
	log := randomLog(4, 50, 20)
	for _, m := range []Method{Popularity{}, DefaultItemKNN(), DefaultTransitions(), DefaultEASE()} {
		var first float64
		tried := 0
		sum := func(s Scorer) float64 {
			scores, sum := make([]float32, log.Items), 0.0
			s.Score([]int32{1, 2, 3, 4, 5, 6, 7}, scores)
			for _, x := range scores {
				sum += float64(x)
			}
			return sum
		}
		method, fitted, err := Choose(t.Context(), log, m, func(s Scorer) (float64, error) {
			if tried++; tried == 1 {
				first = sum(s)
			}
			return sum(s), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		again, err := method.Fit(t.Context(), log)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(m.Alternatives()) * len(m.Weightings()); tried != want {
			t.Errorf("%s: %d of %d alternatives were tried", m, tried, want)
		}
		if got := sum(fitted); got != sum(again) || got < first {
			t.Errorf("%s: %s with a score of %g, %g when fitted again; the first has %g", m, method, got, sum(again), first)
		}
	}
	failure := errors.New("no score")
	if _, _, err := Choose(t.Context(), log, Popularity{}, func(Scorer) (float64, error) { return 0, failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
}
