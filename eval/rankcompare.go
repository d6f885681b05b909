package eval

import "fmt"

// comparisonResamples is the number of bootstrap resamples of a comparison.
const comparisonResamples = 1000

// RankingComparison says whether two recommenders differ on the same users.
type RankingComparison struct {
	Metric RankMetric `json:"metric"`
	K      int        `json:"k"`
	A      float64    `json:"a"` // means over users
	B      float64    `json:"b"`
	// Paired is the t test that papers report, Wilcoxon the test that does not
	// assume normal differences. Low and High bound the mean of a - b by the
	// bootstrap, which assumes neither.
	Paired   PairedTest   `json:"paired"`
	Wilcoxon WilcoxonTest `json:"wilcoxon"`
	Low      float64      `json:"low"`
	High     float64      `json:"high"`
}

// CompareRankings tests a metric at cutoff k between two recommenders, user by
// user; the order of users may differ. The bootstrap is drawn with seed. It
// fails on an unknown metric, fewer than two users, rankings of different users
// and lists that are shorter than k.
func CompareRankings(a, b *Ranking, metric RankMetric, k int, seed uint64) (RankingComparison, error) {
	result := RankingComparison{Metric: metric, K: k}
	if err := metric.check(); err != nil {
		return result, err
	}
	for _, r := range []*Ranking{a, b} {
		if r.Depth > 0 && k > r.Depth {
			return result, fmt.Errorf("%s@%d cannot be taken of lists of %d", metric, k, r.Depth)
		}
	}
	if a.Len() != b.Len() {
		return result, fmt.Errorf("rankings of %d and of %d users cannot be paired", a.Len(), b.Len())
	}
	x, y := a.Values(metric, k), make([]float64, a.Len())
	for i, user := range a.users {
		j, known := b.index[user]
		if !known {
			return result, fmt.Errorf("user %q is in one ranking only: both must rank the same users", user)
		}
		if len(a.Ranks(i)) != len(b.Ranks(j)) {
			return result, fmt.Errorf("user %q has %d relevant items in one ranking and %d in the other", user, len(a.Ranks(i)), len(b.Ranks(j)))
		}
		y[i] = metric.Score(b.Ranks(j), k)
	}
	var err error
	if result.Paired, err = Paired(x, y); err != nil {
		return result, err
	}
	if result.Wilcoxon, err = Wilcoxon(x, y); err != nil {
		return result, err
	}
	result.A, _ = MeanStd(x)
	result.B, _ = MeanStd(y)
	result.Low, result.High, err = Bootstrap(x, y, comparisonResamples, seed)
	return result, err
}
