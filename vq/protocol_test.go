package vq

import (
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/transform"
)

// Learn alone decides whether raw codes are trained, whatever the transform's
// own switch says: under protocol A neither gradients nor resets reach E, under
// protocol B both do.
func TestLearnDecidesTheProtocol(t *testing.T) {
	for _, learn := range []string{"gradient", "frozen"} {
		for _, joint := range []bool{true, false} {
			c := small(t, "grit", 1)
			c.Learn, c.Transform.Joint, c.Transform.Rank = learn, joint, 3
			f := newFixture(t, c, 3, 9)
			g := gradients(t, f, random(newRand(5), 9, 3), 0)["level0/codes"]
			if moves := dot(g, g) > 0; moves != (learn == "gradient") {
				t.Errorf("learn %s, joint %v: codes have a gradient: %v", learn, joint, moves)
			}
			before := widen(f.set["level0/codes"]).Data
			if _, err := Place(f.q, f.set, 0, []int{2}, []float32{1, 2, 3}, transform.Reset); err != nil {
				t.Fatal(err)
			}
			change := gradtest.RelativeError(widen(f.set["level0/codes"]).Data, before)
			if moved := change > 0; moved != (learn == "gradient") {
				t.Errorf("learn %s, joint %v: a reset moves raw codes: %v", learn, joint, moved)
			}
		}
	}
}
