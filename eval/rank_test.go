package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// rankFixtures is testdata/rank.json.
type rankFixtures struct {
	Significance []struct {
		Users, Spread, Seed int
		T, P                float64
		SmallerSum          float64 `json:"smaller_sum"`
		WilcoxonP           float64 `json:"wilcoxon_p"`
	}
	Exact []struct {
		N, Seed    int
		SmallerSum float64 `json:"smaller_sum"`
		P          float64
	}
	Relevance []struct {
		Items, Relevant, Seed int
		NDCG                  []float64
	}
}

func loadRankFixtures(t *testing.T) rankFixtures {
	t.Helper()
	content, err := os.ReadFile("testdata/rank.json")
	if err != nil {
		t.Fatal(err)
	}
	var f rankFixtures
	if err := json.Unmarshal(content, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestComparisonsAgainstSciPy(t *testing.T) {
	fixtures := loadRankFixtures(t)
	for _, c := range fixtures.Significance {
		a, b := NewRanking(), NewRanking()
		for u := range c.Users {
			random := func(i, n int) int { return int(hashed(uint32(c.Seed+4*u+i)) % uint32(n)) }
			x := random(0, c.Spread) + 1
			y := random(1, c.Spread+3) + 1
			if random(2, 3) == 0 {
				y = x
			}
			if err := a.Add(fmt.Sprint(u), x); err != nil {
				t.Fatal(err)
			}
			if err := b.Add(fmt.Sprint(u), y); err != nil {
				t.Fatal(err)
			}
		}
		got, err := CompareRankings(a, b, NDCG, 10, 1)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "t", got.Paired.T, c.T, 1e-10)
		near(t, "p", got.Paired.P, c.P, 1e-10)
		near(t, "rank sum", min(got.Wilcoxon.WPlus, got.Wilcoxon.WMinus), c.SmallerSum, 0)
		near(t, "Wilcoxon p", got.Wilcoxon.P, c.WilcoxonP, 1e-12)
		if got.Wilcoxon.Exact || got.Wilcoxon.N == c.Users {
			t.Errorf("%d users: no zeros or ties were tested", c.Users)
		}
		if !(got.Low <= got.A-got.B && got.A-got.B <= got.High) {
			t.Errorf("difference %g outside its interval %g to %g", got.A-got.B, got.Low, got.High)
		}
	}
	for _, c := range fixtures.Exact {
		d := make([]float64, c.N)
		for i := range d {
			d[i] = float64(i + 1)
			if hashed(uint32(c.Seed+i))%3 == 0 {
				d[i] = -d[i]
			}
		}
		got, err := Wilcoxon(d, make([]float64, c.N))
		if err != nil || !got.Exact {
			t.Fatal(got, err)
		}
		near(t, "rank sum", min(got.WPlus, got.WMinus), c.SmallerSum, 0)
		near(t, "exact p", got.P, c.P, 1e-12)
	}
}

func TestNDCGAgainstScikitLearn(t *testing.T) {
	for _, c := range loadRankFixtures(t).Relevance {
		order := make([]int, c.Items)
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int {
			return cmp.Or(cmp.Compare(hashed(uint32(c.Seed+i)), hashed(uint32(c.Seed+j))), cmp.Compare(i, j))
		})
		scores := make([]float32, c.Items)
		for place, item := range order {
			scores[item] = float32(c.Items - place)
		}
		targets := make([]int, c.Relevant)
		for i := range targets {
			targets[i] = i
		}
		r := NewRanking()
		if err := r.Add("q", RanksOf(scores, targets)...); err != nil {
			t.Fatal(err)
		}
		for i, k := range []int{1, 5, 10, 20} {
			near(t, fmt.Sprintf("NDCG@%d of %d", k, c.Relevant), r.Mean(k).NDCG, c.NDCG[i], 1e-12)
		}
	}
}

func TestRankScoresByHand(t *testing.T) {
	r := NewRanking()
	for user, ranks := range map[string][]int{"first": {1}, "third": {3}, "eleventh": {11}, "missed": {0}} {
		if err := r.Add(user, ranks...); err != nil {
			t.Fatal(err)
		}
	}
	got := r.Mean(10)
	near(t, "recall", got.Recall, 0.5, 1e-15)
	near(t, "hit rate", got.HitRate, 0.5, 1e-15)
	near(t, "NDCG", got.NDCG, (1+0.5)/4, 1e-15) // 1/log2(4) = 0.5
	near(t, "MRR", got.MRR, (1+1.0/3)/4, 1e-15)
	if at11 := r.Mean(11); at11.Recall != 0.75 || at11.Users != 4 {
		t.Errorf("%+v", at11)
	}
	// Two of three relevant items found: ideal 1 + 1/log2(3) + 1/2.
	ranks := []int32{4, 0, 2}
	near(t, "recall", Recall.Score(ranks, 5), 2.0/3, 1e-15)
	near(t, "hit", HitRate.Score(ranks, 5), 1, 0)
	near(t, "MRR", MRR.Score(ranks, 5), 0.5, 0)
	near(t, "NDCG", NDCG.Score(ranks, 5), (1/math.Log2(5)+1/math.Log2(3))/(1+1/math.Log2(3)+0.5), 1e-15)
	// A list of one can hold one of them, so finding one is perfect.
	near(t, "NDCG@1", NDCG.Score([]int32{1, 0, 0}, 1), 1, 0)
	if !math.IsNaN(NDCG.Score(nil, 5)) || !math.IsNaN(NewRanking().Mean(5).Recall) {
		t.Error("nothing to rank must be NaN")
	}
}

func rankOf(scores []float32, target int) int { return RanksOf(scores, []int{target})[0] }

func TestRanksAreMeanPositionsOfTies(t *testing.T) {
	scores := []float32{5, 3, 3, 9, 3, 1, 3}
	for target, want := range []int{2, 5, 5, 1, 5, 7, 5} { // ties at 3 to 6: mean 4.5
		if got := rankOf(scores, target); got != want {
			t.Errorf("rank of %d is %d, want %d", target, got, want)
		}
	}
	if got := RanksOf(scores, []int{1, 2, 4, 6}); !slices.Equal(got, []int{3, 4, 5, 6}) {
		t.Errorf("all tied: %v", got)
	}
	if got := RanksOf(scores, []int{5, 6, 3, 1}); !slices.Equal(got, []int{7, 4, 1, 6}) { // 2 + ceil(5/3), 2 + ceil(10/3)
		t.Errorf("two of four tied: %v", got)
	}
	same := make([]float32, 100)
	if got := rankOf(same, 0); got != 51 {
		t.Errorf("a model without an opinion ranks at %d of 100", got)
	}
	nan := float32(math.NaN())
	if got := rankOf([]float32{nan, 1, 2}, 0); got != 3 {
		t.Errorf("NaN ranks at %d of 3", got)
	}
	if got := rankOf([]float32{nan, 1, nan}, 1); got != 3 {
		t.Errorf("NaN elsewhere: rank %d of 3", got)
	}
	if got := RanksOf([]float32{nan, 1, nan, 2}, []int{0, 1, 2}); !slices.Equal(got, []int{3, 2, 4}) {
		t.Errorf("NaN among the targets: %v", got)
	}
}

func TestMeanRankOfTiesOverAllOrders(t *testing.T) {
	// The mean position of m targets among t ties, by drawing orders.
	random := rand.New(rand.NewPCG(1, 2))
	const tied, targets, draws = 7, 3, 20_000
	sums := make([]float64, targets)
	for range draws {
		places := random.Perm(tied)[:targets]
		slices.Sort(places)
		for j, place := range places {
			sums[j] += float64(place + 1)
		}
	}
	got := RanksOf(make([]float32, tied), []int{0, 1, 2})
	for j, sum := range sums {
		if want := int(math.Ceil(sum/draws - 0.1)); got[j] != want { // means are 2, 4 and 6
			t.Errorf("target %d at rank %d, mean position %g", j, got[j], sum/draws)
		}
	}
}

func TestRanksOfAllTargetsAreDistinct(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		scores := make([]float32, 1+random.IntN(20))
		for i := range scores {
			if scores[i] = float32(random.IntN(6)); scores[i] == 5 {
				scores[i] = float32(math.NaN())
			}
		}
		all := RanksOf(scores, random.Perm(len(scores)))
		slices.Sort(all)
		for i, rank := range all {
			if rank != i+1 {
				t.Fatalf("%v: all items have ranks %v", scores, all)
			}
		}
	}
}

func TestSubset(t *testing.T) {
	r := NewRanking()
	for i, rank := range []int{1, 0, 2, 3} {
		if err := r.Add(fmt.Sprint("u", i), rank); err != nil {
			t.Fatal(err)
		}
	}
	cold, err := r.Subset([]bool{false, true, true, true})
	if err != nil {
		t.Fatal(err)
	}
	if cold.Len() != 3 || cold.User(1) != "u2" {
		t.Errorf("%d users", cold.Len())
	}
	for i, want := range []float64{0, 1, 0} {
		near(t, "recall", Recall.Score(cold.Ranks(i), 2), want, 0)
	}
	if err := cold.Add("u0", 1); err != nil {
		t.Error(err) // u0 is not in the subset
	}
	fails(t, cold.Add("u2", 1), "twice")
	if r.Len() != 4 {
		t.Error("the subset changed the whole")
	}
	_, err = r.Subset([]bool{true})
	fails(t, err, "4 users has 1")
}

// Nothing is said of lists beyond their length, in memory or in files.
func TestCutoffsFollowTheDepth(t *testing.T) {
	for depth, want := range map[int][]int{0: {5, 10, 20, 50, 100}, 3: {3}, 5: {5}, 30: {5, 10, 20}, 100: {5, 10, 20, 50, 100}} {
		r := NewRanking()
		r.Depth = depth
		for user, rank := range []int{1, 0, 2} {
			if err := r.Add(strconv.Itoa(user), rank); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.Cutoffs(); !slices.Equal(got, want) {
			t.Errorf("lists of %d have cutoffs %v, want %v", depth, got, want)
		}
		if means := r.Means(); len(means) != len(want) || means[0].K != want[0] {
			t.Errorf("lists of %d are scored at %+v", depth, means)
		}
		some, err := r.Subset([]bool{true, true, false})
		if err != nil || some.Depth != depth {
			t.Errorf("a part of lists of %d has lists of %d, %v", depth, some.Depth, err)
		}
		for _, name := range []string{"scores.csv", "scores.parquet"} {
			path := filepath.Join(t.TempDir(), name)
			if err := WriteRanking(path, r); err != nil {
				t.Fatal(err)
			}
			again, err := ReadRanking(path)
			if err != nil || again.Depth != want[len(want)-1] {
				t.Errorf("%s of lists of %d has lists of %d, %v", name, depth, again.Depth, err)
			}
		}
		_, err = CompareRankings(r, r, Recall, 100, 1)
		if depth == 0 || depth == 100 {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		fails(t, err, "recall@100 cannot be taken of lists of "+strconv.Itoa(depth))
	}
}

func TestRankingRefusesNonsense(t *testing.T) {
	r := NewRanking()
	fails(t, r.Add("u"), "no relevant item")
	fails(t, r.Add("u", -1), "rank -1")
	fails(t, r.Add("u", 2, 0, 2), "two items at rank 2")
	if err := r.Add("u", 0, 0, 1); err != nil || r.Len() != 1 {
		t.Errorf("two missed items: %v", err)
	}
	other := NewRanking()
	_, err := CompareRankings(r, other, NDCG, 10, 1)
	fails(t, err, "1 and of 0 users")
	if err := other.Add("w", 0, 0, 1); err != nil {
		t.Fatal(err)
	}
	_, err = CompareRankings(r, other, NDCG, 10, 1)
	fails(t, err, `"u" is in one ranking only`)
	shorter := NewRanking()
	if err := shorter.Add("u", 1); err != nil {
		t.Fatal(err)
	}
	_, err = CompareRankings(r, shorter, NDCG, 10, 1)
	fails(t, err, "3 relevant items in one ranking and 1")
	_, err = CompareRankings(r, r, NDCG, 10, 1)
	fails(t, err, "at least 2 pairs")
}
