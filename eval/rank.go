package eval

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// RankCutoffs returns the list lengths that recommendation papers report.
func RankCutoffs() []int { return []int{5, 10, 20, 50, 100} }

// RanksOf returns the ranks, from 1 for the best, of distinct targets among all scores
// [items], higher being better. Where m targets are among t tied items, they take the
// mean positions of m items drawn from t, rounded up: the j-th has rank
// ceil(j (t + 1) / (m + 1)), so a model with equal scores for all items ranks each in the
// middle of the catalogue. A NaN beats the targets and targets of NaN take the last
// ranks: a diverged model cannot look good. It panics on a target outside the catalogue.
func RanksOf[S float32 | float64](scores []S, targets []int) []int {
	order := make([]int, len(targets)) // positions in targets, best first, NaN last
	lost := 0                          // targets of NaN
	for i, target := range targets {
		order[i] = i
		if scores[target] != scores[target] {
			lost++
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[targets[j]], scores[targets[i]]) })
	ranks := make([]int, len(targets))
	valid := len(order) - lost
	for start, end := 0, 0; start < valid; start = end {
		own := scores[targets[order[start]]]
		for end = start; end < valid && scores[targets[order[end]]] == own; end++ {
		}
		better, tied := standing(scores, own)
		group := end - start
		for j, i := range order[start:end] {
			ranks[i] = better - lost + ((j+1)*(tied+1)+group)/(group+1)
		}
	}
	for j, i := range order[valid:] {
		ranks[i] = len(scores) - lost + j + 1
	}
	return ranks
}

// standing counts the scores that beat own, NaN among them, and those that equal it.
func standing[S float32 | float64](scores []S, own S) (better, tied int) {
	for _, s := range scores {
		if s == own {
			tied++
		} else if !(s < own) {
			better++
		}
	}
	return better, tied
}

// RankMetric names a score of one ranked list.
type RankMetric string

// The scores of a list cut off at k. With one relevant item Recall equals HitRate.
const (
	Recall  RankMetric = "recall" // part of the relevant items among the first k
	HitRate RankMetric = "hit"    // 1 where any relevant item is among the first k
	NDCG    RankMetric = "ndcg"   // sum of 1/log2(1+rank) over relevant items among the first k, over that of the best list
	MRR     RankMetric = "mrr"    // 1/rank of the first relevant item, where that is among the first k
)

// RankMetrics returns all metrics, in the order tables print them.
func RankMetrics() []RankMetric { return []RankMetric{Recall, HitRate, NDCG, MRR} }

func (m RankMetric) check() error {
	if !slices.Contains(RankMetrics(), m) {
		return fmt.Errorf("there is no ranking metric %q; known are recall, hit, ndcg and mrr", string(m))
	}
	return nil
}

// Score returns the metric of one list cut off at k, from the ranks of its relevant
// items: 1 for the first, 0 for items that were not retrieved. It is NaN without relevant
// items and panics on an unknown metric.
func (m RankMetric) Score(ranks []int32, k int) float64 {
	hits, best, gain := 0, int32(0), 0.0
	for _, rank := range ranks {
		if rank < 1 || int(rank) > k {
			continue
		}
		hits++
		gain += 1 / math.Log2(1+float64(rank))
		if best == 0 || rank < best {
			best = rank
		}
	}
	switch {
	case len(ranks) == 0:
		return math.NaN()
	case hits == 0:
		return 0
	}
	switch m {
	case Recall:
		return float64(hits) / float64(len(ranks))
	case HitRate:
		return 1
	case NDCG:
		return gain / idealGain(min(len(ranks), k))
	case MRR:
		return 1 / float64(best)
	}
	panic(m.check().Error())
}

// idealGain is the discounted gain of n relevant items in the first n places.
func idealGain(n int) float64 {
	gain := 0.0
	for rank := 1; rank <= n; rank++ {
		gain += 1 / math.Log2(1+float64(rank))
	}
	return gain
}
