package vq

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/gritvq/gritvq/weights"
)

// planned fits rows by one plan.
func planned(t *testing.T, p jointPlan, c Config, rows Latents, seed uint64) Fitted {
	t.Helper()
	f := &Fitting{ctx: context.Background(), iterations: 25}
	j, err := f.fitPlan(p, c, rows, rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return Fitted{Variables: j.variables()}
}

// latentsOf views the rows from..to of a matrix.
func latentsOf(a *weights.Array, from, to int) Latents { return rowsOf(a).first(to).from(from) }

// With hardly more rows than codes the first level meets most rows. The chosen plan leaves the later levels something to
// learn: other rows have a third less error than with the sweeps for many rows, at least.
func TestPlanOfFewRows(t *testing.T) {
	const dim = 16
	for _, rows := range []int{80, 200} {
		c := classical(t, "rq", 4, 1)
		c.Codes = 64
		var chosen, swept float64
		for seed := range uint64(3) {
			factors := weights.Normal(newRand(90+seed), 1, 5, dim)
			all := weights.Normal(newRand(80+seed), 0.1, rows+500, dim)
			mix := weights.Normal(newRand(70+seed), 1, rows+500, 5)
			for i := range rows + 500 {
				for f := range 5 {
					for j := range dim {
						all.Row(i)[j] += mix.Row(i)[f] * factors.Row(f)[j]
					}
				}
			}
			train, held := latentsOf(all, 0, rows), latentsOf(all, rows, rows+500)
			chosen += beamError(t, c, fitted(t, c, train, FitOptions{Seed: seed}), held, c.Beam)
			swept += beamError(t, c, planned(t, jointPlans[0], c, train, seed), held, c.Beam)
		}
		if t.Logf("%d rows: %.4f, with sweeps %.4f", rows, chosen, swept); !(chosen < 0.67*swept) {
			t.Errorf("%d rows for %d codes: held-out error %g, with sweeps %g", rows, c.Codes, chosen, swept)
		}
	}
}

// Many rows are fitted by the sweeps, without a trial.
func TestPlanOfManyRows(t *testing.T) {
	c := classical(t, "rq", 2, 1)
	c.Codes = 8
	f := &Fitting{ctx: context.Background(), iterations: 25}
	rng := rand.New(rand.NewPCG(1, 1))
	before := *rng
	p, err := f.plan(c, gaussianSample(4, fewRows*c.Codes, 6), rng)
	if err != nil || p != jointPlans[0] {
		t.Errorf("plan %+v, error %v", p, err)
	}
	if *rng != before {
		t.Error("the choice took random numbers from the fit")
	}
}
