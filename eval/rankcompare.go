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
	return CompareSeeds([]*Ranking{a}, []*Ranking{b}, metric, k, seed)
}

// CompareSeeds is [CompareRankings] of recommenders that were trained with several
// seeds: a user's score is the mean over the rankings of each.
func CompareSeeds(a, b []*Ranking, metric RankMetric, k int, seed uint64) (RankingComparison, error) {
	result := RankingComparison{Metric: metric, K: k}
	if err := metric.check(); err != nil {
		return result, err
	}
	x, err := a[0].scoresOf(a, metric, k)
	if err != nil {
		return result, err
	}
	y, err := a[0].scoresOf(b, metric, k)
	if err != nil {
		return result, err
	}
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

// scoresOf averages the scores of several rankings, in the order of r's users.
func (r *Ranking) scoresOf(rankings []*Ranking, metric RankMetric, k int) ([]float64, error) {
	means := make([]float64, r.Len())
	for _, other := range rankings {
		if other.Depth > 0 && k > other.Depth {
			return nil, fmt.Errorf("%s@%d cannot be taken of lists of %d", metric, k, other.Depth)
		}
		if r.Len() != other.Len() {
			return nil, fmt.Errorf("rankings of %d and of %d users cannot be paired", r.Len(), other.Len())
		}
		for i, user := range r.users {
			j, known := other.index[user]
			if !known {
				return nil, fmt.Errorf("user %q is in one ranking only: both must rank the same users", user)
			}
			if n, m := len(r.Ranks(i)), len(other.Ranks(j)); n != m {
				return nil, fmt.Errorf("user %q has %d relevant items in one ranking and %d in the other", user, n, m)
			}
			means[i] += metric.Score(other.Ranks(j), k) / float64(len(rankings))
		}
	}
	return means, nil
}
