package vq

import (
	"math/rand/v2"
)

// jointPlan is how codes of all levels are fitted together.
type jointPlan struct {
	survivors int  // encodings of a row whose residuals the next level's k-means sees
	close     bool // of these only the best one and those that are hardly worse
	updates   int  // of each level's k-means
	sweeps    int  // over all levels
}

// jointPlans are tried where rows are few. Sweeps then learn rows by heart. A first level that meets most rows leaves
// nothing to the next one; residuals of worse encodings give it something to learn. The first plan is for many rows.
var jointPlans = []jointPlan{{2, true, rqUpdates, rqSweeps}, {5, false, 10, 0}, {rqBeam, false, 10, 0}}

const (
	fewRows   = 32  // for a code: fewer try all plans
	planShare = 0.1 // of the rows judges the plans
)

// plan chooses the plan by rows that the fits have not seen. Where they are hardly more than the codes, the last is taken.
func (f *Fitting) plan(c Config, sample Latents, rng *rand.Rand) (jointPlan, error) {
	best := jointPlans[0]
	if sample.N >= fewRows*c.Codes {
		return best, nil
	}
	judges := int(planShare * float64(sample.N))
	rows := sample.first(sample.N - judges)
	if rows.N < 2*c.Codes || judges == 0 {
		return jointPlans[len(jointPlans)-1], nil
	}
	seed, least := rng.Uint64(), 0.0
	silent := &Fitting{ctx: f.ctx, iterations: f.iterations}
	for i, p := range jointPlans {
		j, err := silent.fitPlan(p, c, rows, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			return best, err
		}
		left, err := j.leftOf(j.centred(sample.from(rows.N)))
		if err != nil {
			return best, err
		}
		if i == 0 || left < least {
			best, least = p, left
		}
	}
	return best, nil
}

// centred returns other rows as those of the sample.
func (j *jointFit) centred(rows Latents) Latents {
	rows = rows.clone()
	for i := range rows.Rows {
		rows.Rows[i] -= float32(j.mean[i%rows.Dim])
	}
	return rows
}

// leftOf is the squared error of centred rows.
func (j *jointFit) leftOf(rows Latents) (float64, error) {
	codes, _, err := j.survivors(rows, 1)
	if err != nil {
		return 0, err
	}
	_, squares := j.rest(rows, codes, 1)
	total := 0.0
	for _, s := range squares {
		total += s
	}
	return total, nil
}
