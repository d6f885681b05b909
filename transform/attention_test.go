package transform

import (
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// mixingRows returns M [K,K] of an attention kind, by its rows.
func mixingRows(c Config, set weights.Set, codes *weights.Array) *mat.Dense {
	p := widen(set, codes)
	m := mat.NewDense(p.k, p.k, nil)
	if c.Kind == KindAttentionLowRank {
		rows := newPrototypeRows(c, p)
		for i := range p.k {
			for j := range p.k {
				m.Set(i, j, (1-rows.delta)*dot(rows.code(i), rows.share(j)))
			}
			m.Set(i, i, m.At(i, i)+rows.delta)
		}
		return m
	}
	rows := newAttentionRows(c, p)
	for i := range p.k {
		row, _ := rows.weightsOf(i)
		for slot, weight := range row {
			m.Set(i, rows.attended(i, slot), weight)
		}
	}
	return m
}

var attentionKinds = []Kind{KindAttention, KindAttentionTopK, KindAttentionLowRank}

func TestAttentionStartsNearTheRawCodes(t *testing.T) {
	for _, kind := range attentionKinds {
		for _, scale := range []float32{0.01, 1, 30} {
			c := Default()
			c.Kind = kind
			rng := testRand()
			codes := weights.Normal(rng, 1, 200, 16)
			for i := range codes.Data {
				codes.Data[i] *= scale
			}
			set, err := c.Init(codes, 1, rng)
			if err != nil {
				t.Fatal(err)
			}
			m := mixingRows(c, set, codes)
			if mean := mat.Trace(m) / 200; math.Abs(mean-0.9) > 0.02 {
				t.Errorf("%s, codes of scale %g: mean diagonal %.3f, want about 0.9", kind, scale, mean)
			}
			for i := range 200 {
				if sum := mat.Sum(m.RowView(i)); math.Abs(sum-1) > 1e-12 || mat.Min(m.RowView(i)) < 0 {
					t.Fatalf("%s: row %d sums to %g, or has a negative weight", kind, i, sum)
				}
			}
		}
	}
}

// The rows that Usable mixes are the rows of M: C' = M E W.
func TestAttentionIsAMixingMatrix(t *testing.T) {
	for _, kind := range attentionKinds {
		c := smallConfig(kind)
		set, codes := trained(t, c, testCodes, testDim)
		in := inputs(set, codes)
		want := chain(mixingRows(c, set, codes), matrix(in, "codes"), matrix(in, "feature/w"))
		gradtest.Close(t, string(kind), c.Usable(set, codes), want.RawMatrix().Data, 1e-12)
	}
}

// dM = G Wᵀ Eᵀ, dS = α (dM - rowsum(α dM)) elementwise, and from there through
// S = (E U1)(E V1)ᵀ/τ + b I. attention-topk is the same with α zero off the list.
func TestAttentionGradientsInClosedForm(t *testing.T) {
	for _, kind := range []Kind{KindAttention, KindAttentionTopK} {
		c := smallConfig(kind)
		set, codes := trained(t, c, testCodes, testDim)
		in := inputs(set, codes)
		up := upstream(testCodes, testDim)
		g := mat.NewDense(testCodes, testDim, up)
		e, w, query, key := matrix(in, "codes"), matrix(in, "feature/w"), matrix(in, "mixer/query"), matrix(in, "mixer/key")
		alpha := mixingRows(c, set, codes)
		dM := chain(g, w.T(), e.T())
		var weighted mat.Dense
		weighted.MulElem(alpha, dM)
		dS := mat.NewDense(testCodes, testCodes, nil)
		dS.Apply(func(i, j int, a float64) float64 {
			return a * (dM.At(i, j) - mat.Sum(weighted.RowView(i)))
		}, alpha)
		bias := mat.NewDense(1, 1, []float64{mat.Trace(dS)})
		dS.Scale(1/c.Temperature, dS)
		dE := chain(alpha.T(), g, w.T())
		dE.Add(dE, chain(dS, e, key, query.T()))
		dE.Add(dE, chain(dS.T(), e, query, key.T()))
		checkGradients(t, c, in, up, map[string]*mat.Dense{
			"mixer/query": chain(e.T(), dS, e, key),
			"mixer/key":   chain(e.T(), dS.T(), e, query),
			"mixer/bias":  bias,
			"feature/w":   chain(e.T(), alpha.T(), g),
			"codes":       dE,
		})
	}
}

func TestEntropyIsThatOfTheMixingRows(t *testing.T) {
	entropy := func(weights []float64) (h float64) {
		for _, w := range weights {
			if w > 0 {
				h -= w * math.Log(w)
			}
		}
		return h
	}
	for _, kind := range attentionKinds {
		c := smallConfig(kind)
		set, codes := trained(t, c, testCodes, testDim)
		in := inputs(set, codes)
		reference := func(in gradtest.Inputs) (mean float64) {
			p := variables{k: testCodes, d: testDim, values: map[string][]float64{}}
			for path, v := range in {
				p.values[path] = v.Data
			}
			for i := range testCodes {
				if kind == KindAttentionLowRank {
					rows := newPrototypeRows(c, p)
					choice := []float64{rows.delta}
					for _, lean := range rows.code(i) {
						choice = append(choice, (1-rows.delta)*lean)
					}
					mean += entropy(choice) / testCodes
					continue
				}
				row, _ := newAttentionRows(c, p).weightsOf(i)
				mean += entropy(row) / testCodes
			}
			return mean
		}
		build := func(nodes map[string]*graph.Node) *graph.Node {
			return c.Entropy(weights.FromNodes(nodes), nodes["codes"])
		}
		got := gradtest.Eval[float64](t, in, func(nodes map[string]*graph.Node) []*graph.Node { return []*graph.Node{build(nodes)} })
		gradtest.Close(t, string(kind), got[0], []float64{reference(in)}, 1e-12)
		grads := gradtest.Autodiff[float64](t, in, build)
		for _, path := range in.Names() {
			if weights.GroupOf(path) != weights.State {
				gradtest.Close(t, string(kind)+" "+path, grads[path], gradtest.FiniteDifference(in, path, reference), 1e-6)
			}
		}
	}
	if smallConfig(KindLinear).Entropy(weights.Vars{}, nil) != nil {
		t.Error("the linear transform has no rows with an entropy")
	}
}

func TestNeighboursAreTheNearest(t *testing.T) {
	const n, d, k = 300, 5, 7 // more rows than a block
	codes := weights.Normal(testRand(), 1, n, d)
	got, err := Neighbours(codes, k)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		distance := func(j int) (sum float64) {
			for c, x := range codes.Row(i) {
				diff := float64(x - codes.Row(j)[c])
				sum += diff * diff
			}
			return sum
		}
		order := make([]int, n)
		for j := range order {
			order[j] = j
		}
		sort.SliceStable(order, func(a, b int) bool { return distance(order[a]) < distance(order[b]) })
		for slot, j := range got.Row(i) {
			// float32 products may swap codes that are equally far to 1e-5.
			if diff := distance(int(j)) - distance(order[slot]); diff > 1e-5 || diff < -1e-5 {
				t.Fatalf("code %d: slot %d holds %v, want %v", i, slot, got.Row(i), order[:k])
			}
		}
	}
}

func TestNeighboursPutTheCodeItselfFirst(t *testing.T) {
	codes := weights.Full(1, 4, 2) // all equal: every order is by distance
	got, err := Neighbours(codes, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]float32{{0, 1, 2}, {1, 0, 2}, {2, 0, 1}, {3, 0, 1}} {
		if !slices.Equal(got.Row(i), want) {
			t.Errorf("code %d has neighbours %v, want %v", i, got.Row(i), want)
		}
	}
	for _, k := range []int{0, 5} {
		if _, err := Neighbours(codes, k); err == nil {
			t.Errorf("%d neighbours of 4 codes gave no error", k)
		}
	}
}

func TestRefreshFollowsTheCodes(t *testing.T) {
	c := smallConfig(KindAttentionTopK)
	set, codes := start(t, c, testCodes, testDim)
	copy(codes.Row(9), codes.Row(0)) // code 9 becomes a twin of code 0
	if err := c.Refresh(set, codes); err != nil {
		t.Fatal(err)
	}
	if got := set["state/neighbours"].Row(9)[:2]; got[0] != 9 || got[1] != 0 {
		t.Errorf("code 9 has neighbours %v, want itself and its twin 0 first", got)
	}
	other := weights.Set{}
	if err := smallConfig(KindLinear).Refresh(other, codes); err != nil || len(other) != 0 {
		t.Errorf("refreshing a linear transform gave %v, %v", other, err)
	}
}
