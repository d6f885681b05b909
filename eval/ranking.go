package eval

import (
	"fmt"
	"math"
	"slices"
)

// Ranking holds the ranks of every user's or query's relevant items in the lists of a
// recommender. Every metric at every cutoff follows from them.
type Ranking struct {
	Depth int // length of the lists, beyond which ranks are unknown; 0 is the whole catalogue

	users   []string
	ranks   []int32
	offsets []int // of users in ranks; one more than users
	index   map[string]int
}

// RankingScores are the means over users at one cutoff.
type RankingScores struct {
	K       int     `json:"k"`
	Users   int     `json:"users"`
	Recall  float64 `json:"recall"`
	HitRate float64 `json:"hit_rate"`
	NDCG    float64 `json:"ndcg"`
	MRR     float64 `json:"mrr"`
}

// NewRanking returns a ranking without users.
func NewRanking() *Ranking {
	return &Ranking{offsets: []int{0}, index: map[string]int{}}
}

// Add records the ranks of a user's or query's relevant items: 1 for the first of the
// list, 0 for each that was not retrieved. It fails, and records nothing, on a known
// user, without ranks, on a negative rank and on two items of one rank.
func (r *Ranking) Add(user string, ranks ...int) error {
	if _, known := r.index[user]; known {
		return fmt.Errorf("user %q is ranked twice", user)
	}
	if len(ranks) == 0 {
		return fmt.Errorf("user %q has no relevant item to rank", user)
	}
	sorted := slices.Sorted(slices.Values(ranks))
	for i, rank := range sorted {
		switch {
		case rank < 0 || rank > math.MaxInt32:
			return fmt.Errorf("user %q has an item at rank %d: ranks count from 1, and 0 is for items that were not retrieved", user, rank)
		case i > 0 && rank > 0 && rank == sorted[i-1]:
			return fmt.Errorf("user %q has two items at rank %d", user, rank)
		}
	}
	for _, rank := range ranks {
		r.ranks = append(r.ranks, int32(rank))
	}
	r.index[user] = len(r.users)
	r.users = append(r.users, user)
	r.offsets = append(r.offsets, len(r.ranks))
	return nil
}

// Len is the number of users.
func (r *Ranking) Len() int { return len(r.users) }

// User returns the name of user i, in the order of Add.
func (r *Ranking) User(i int) string { return r.users[i] }

// Ranks returns the ranks of user i. The caller must not modify them.
func (r *Ranking) Ranks(i int) []int32 {
	return r.ranks[r.offsets[i]:r.offsets[i+1]:r.offsets[i+1]]
}

// Mean returns the scores at cutoff k averaged over users; NaN without any.
func (r *Ranking) Mean(k int) RankingScores {
	scores := RankingScores{K: k, Users: r.Len()}
	for i := range r.Len() {
		ranks := r.Ranks(i)
		scores.Recall += Recall.Score(ranks, k)
		scores.HitRate += HitRate.Score(ranks, k)
		scores.NDCG += NDCG.Score(ranks, k)
		scores.MRR += MRR.Score(ranks, k)
	}
	n := float64(r.Len())
	scores.Recall /= n
	scores.HitRate /= n
	scores.NDCG /= n
	scores.MRR /= n
	return scores
}

// Cutoffs are the RankCutoffs that the lists are long enough for, or else their length.
func (r *Ranking) Cutoffs() []int {
	if r.Depth == 0 {
		return RankCutoffs()
	}
	list := slices.DeleteFunc(RankCutoffs(), func(k int) bool { return k > r.Depth })
	if len(list) == 0 {
		return []int{r.Depth}
	}
	return list
}

// Means returns the scores at each of cutoffs, by default Cutoffs.
func (r *Ranking) Means(cutoffs ...int) []RankingScores {
	if len(cutoffs) == 0 {
		cutoffs = r.Cutoffs()
	}
	list := make([]RankingScores, len(cutoffs))
	for i, k := range cutoffs {
		list[i] = r.Mean(k)
	}
	return list
}

// Subset returns the users for which keep [Len] is true. It fails on another length.
func (r *Ranking) Subset(keep []bool) (*Ranking, error) {
	if len(keep) != r.Len() {
		return nil, fmt.Errorf("a choice among %d users has %d entries", r.Len(), len(keep))
	}
	part := NewRanking()
	part.Depth = r.Depth
	for i, kept := range keep {
		if kept {
			part.index[r.users[i]] = part.Len()
			part.users = append(part.users, r.users[i])
			part.ranks = append(part.ranks, r.Ranks(i)...)
			part.offsets = append(part.offsets, len(part.ranks))
		}
	}
	return part, nil
}

const comparisonResamples = 1000 // of the bootstrap

// RankingComparison says whether two recommenders differ on the same users.
type RankingComparison struct {
	Metric RankMetric `json:"metric"`
	K      int        `json:"k"`
	A      float64    `json:"a"` // means over users
	B      float64    `json:"b"`
	// Paired is the t test that papers report, Wilcoxon does not assume normal
	// differences, Low and High bound the mean of a - b by the bootstrap.
	Paired   PairedTest   `json:"paired"`
	Wilcoxon WilcoxonTest `json:"wilcoxon"`
	Low      float64      `json:"low"`
	High     float64      `json:"high"`
}

// CompareRankings tests a metric at cutoff k between two recommenders, user by user, in
// any order of users. It fails on an unknown metric, fewer than two users, rankings of
// different users and lists that are shorter than k.
func CompareRankings(a, b *Ranking, metric RankMetric, k int, seed uint64) (RankingComparison, error) {
	return CompareSeeds([]*Ranking{a}, []*Ranking{b}, metric, k, seed)
}

// CompareSeeds is [CompareRankings] of recommenders trained with several seeds: a user's
// score is the mean over the rankings of each.
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
