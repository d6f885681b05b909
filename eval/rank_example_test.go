package eval_test

import (
	"fmt"
	"log"

	"github.com/gritvq/gritvq/eval"
)

func ExampleRanking() {
	// Scores of a catalogue of five items for three users, and the next item of each.
	scores := [][]float32{{0.9, 0.1, 0.3, 0.2, 0.5}, {0.2, 0.2, 0.8, 0.1, 0.4}, {0.5, 0.4, 0.3, 0.2, 0.1}}
	next := []int{4, 2, 3}
	ranking := eval.NewRanking()
	for user, target := range next {
		if err := ranking.Add(fmt.Sprint("user", user), eval.RanksOf(scores[user], []int{target})...); err != nil {
			log.Fatal(err)
		}
	}
	for _, at := range ranking.Means(1, 2, 5) {
		fmt.Printf("@%d: recall %.3f, NDCG %.3f, MRR %.3f\n", at.K, at.Recall, at.NDCG, at.MRR)
	}
	// Output:
	// @1: recall 0.333, NDCG 0.333, MRR 0.333
	// @2: recall 0.667, NDCG 0.544, MRR 0.500
	// @5: recall 1.000, NDCG 0.687, MRR 0.583
}

func ExampleCompareRankings() {
	ours, theirs := eval.NewRanking(), eval.NewRanking()
	for user := range 40 {
		name := fmt.Sprint("user", user)
		if err := ours.Add(name, 1+user%4); err != nil {
			log.Fatal(err)
		}
		if err := theirs.Add(name, 1+user%6); err != nil {
			log.Fatal(err)
		}
	}
	test, err := eval.CompareRankings(ours, theirs, eval.NDCG, 10, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("NDCG@10 %.3f and %.3f, p = %.3f (t), %.3f (signed ranks)\n", test.A, test.B, test.Paired.P, test.Wilcoxon.P)
	// Output: NDCG@10 0.640 and 0.560, p = 0.068 (t), 0.060 (signed ranks)
}
