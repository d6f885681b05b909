package train

import (
	"context"
	"errors"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// echo is a server that records its input.
type echo struct {
	opened, updated, closed int
	set                     weights.Set
}

func (e *echo) Update(_ context.Context, set weights.Set) error {
	e.updated++
	e.set = set
	return nil
}

func (e *echo) Close() { e.closed++ }

// A server is opened once, follows the variables, ends with those to keep, and
// is closed where it is not returned.
func TestRunServing(t *testing.T) {
	for name, broken := range map[string]error{"returned": nil, "closed": errors.New("no scores")} {
		e := &echo{}
		open := func(_ context.Context, set weights.Set) (*echo, error) {
			e.opened++
			e.set = set
			return e, nil
		}
		scored := 0
		score := func(_ context.Context, server *echo) (float64, map[string]float64, error) {
			scored++
			if scored == 3 {
				return 0, nil, broken
			}
			return -float64(scored), map[string]float64{"call": float64(scored)}, nil // the first is the best
		}
		result, server, err := RunServing(t.Context(), gradtest.Engine(t), regression(-1), settings(), Options{Dir: t.TempDir()}, open, score)
		if !errors.Is(err, broken) || e.opened != 1 {
			t.Fatalf("%s: opened %d times, %v", name, e.opened, err)
		}
		if broken != nil {
			if e.closed != 1 {
				t.Errorf("%s: closed %d times", name, e.closed)
			}
			continue
		}
		if server != e || e.closed != 0 || e.updated != scored || &e.set["w"].Data[0] != &result.Weights["w"].Data[0] {
			t.Errorf("%s: %d scores, %d updates, %d times closed", name, scored, e.updated, e.closed)
		}
	}
}
