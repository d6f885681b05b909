package vq

import (
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// affine scores codes by ⟨z,w⟩ + b, plus Gumbel noise where there is a source.
func affine(latents *graph.Node, codes []*graph.Node, random *Random) *graph.Node {
	score := graph.DotGeneral(latents, []int{1}, nil, codes[0], []int{1}, nil)
	score = graph.Add(score, graph.ExpandAxes(codes[1], 0))
	return random.withGumbel(score)
}

// choiceInputs are latents [n,d], per-code parameters and values of k codes,
// weights of rows, and gradients arriving at the three outputs.
func choiceInputs(n, k, d int) gradtest.Inputs {
	rng := newRand(12)
	in := gradtest.Inputs{
		"z": random(rng, n, d), "w": random(rng, k, d), "b": random(rng, k), "values": random(rng, k, 2), "rows": random(rng, n),
		"toMean": random(rng, n, 2), "toInformation": random(rng, n), "toShare": random(rng, k),
	}
	in["rows"].Data[1] = 0 // a padded row
	return in
}

// seeded is a random state that is the same in every run.
func seeded(x *graph.Node) *Random { return NewRandom(graph.RNGStateFromSeedForGraph(x.Graph(), 3)) }

// weighed is the scalar whose gradient the tests compare.
func weighed(in map[string]*graph.Node, s summary) *graph.Node {
	sum := func(a, b *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Mul(a, b)) }
	return graph.Add(graph.Add(sum(s.mean, in["toMean"]), sum(s.information, in["toInformation"])), sum(s.share, in["toShare"]))
}

// softmaxOnHost computes the same from the definition: mean, information, share
// and the best code, with noise [n,k] added to the scores.
func softmaxOnHost(in gradtest.Inputs, noise []float64) (mean, information, share []float64, best []int) {
	z, w, values := matrix{in["z"].Data, in["z"].Shape[1]}, matrix{in["w"].Data, in["z"].Shape[1]}, matrix{in["values"].Data, 2}
	k := w.rows()
	share = make([]float64, k)
	for i := range z.rows() {
		p, sum, top := make([]float64, k), 0.0, 0
		for c := range p {
			p[c] = dot(z.row(i), w.row(c)) + in["b"].Data[c]
			if noise != nil {
				p[c] += noise[i*k+c]
			}
			if p[c] > p[top] {
				top = c
			}
		}
		for c := range p {
			p[c] = math.Exp(p[c])
			sum += p[c]
		}
		row, info := make([]float64, 2), 0.0
		for c := range p {
			p[c] /= sum
			info += p[c] * math.Log(p[c])
			share[c] += in["rows"].Data[i] * p[c]
			for j := range row {
				row[j] += p[c] * values.row(c)[j]
			}
		}
		mean, information, best = append(mean, row...), append(information, info), append(best, top)
	}
	return mean, information, share, best
}

// noiseOf draws the noise [n,k] that a choice sees, all at once.
func noiseOf(t *testing.T, in gradtest.Inputs, block int) []float64 {
	n, k := in["z"].Shape[0], in["w"].Shape[0]
	got := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
		c := choice{latents: in["z"], codes: []*graph.Node{in["w"], in["b"]}}.inBlocks(block, seeded(in["z"]))
		var parts []*graph.Node
		for b, state := range c.states {
			zero := graph.MulScalar(graph.DotGeneral(in["z"], []int{1}, nil, c.rowsOf(in["w"], b), []int{1}, nil), 0)
			parts = append(parts, NewRandom(state).withGumbel(zero))
		}
		return []*graph.Node{graph.Concatenate(parts, -1)}
	})[0]
	if len(got) != n*k {
		t.Fatalf("%d noise values for %d x %d scores", len(got), n, k)
	}
	return got
}

// For any division of codes into blocks, with noise or without, values equal the
// definition, and gradients its finite differences.
func TestStreamedSoftmaxIsTheDirectOne(t *testing.T) {
	in := choiceInputs(5, 7, 3)
	for _, noisy := range []bool{false, true} {
		for _, block := range []int{1, 2, 3, 7, 100} {
			name := fmt.Sprintf("noise %v block %d", noisy, block)
			var noise []float64
			if noisy {
				noise = noiseOf(t, in, block)
			}
			build := func(in map[string]*graph.Node) summary {
				var source *Random
				if noisy {
					source = seeded(in["z"])
				}
				c := choice{score: affine, latents: in["z"], codes: []*graph.Node{in["w"], in["b"]}}.inBlocks(block, source)
				return c.softmax(in["values"], in["rows"])
			}
			got := gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
				s := build(in)
				return []*graph.Node{s.mean, s.information, s.share, s.index}
			})
			mean, information, share, best := softmaxOnHost(in, noise)
			gradtest.Close(t, name+" mean", got[0], mean, 1e-12)
			gradtest.Close(t, name+" information", got[1], information, 1e-12)
			gradtest.Close(t, name+" share", got[2], share, 1e-12)
			for i, want := range best {
				if int(got[3][i]) != want {
					t.Errorf("%s: row %d chooses %v, want %d", name, i, got[3][i], want)
				}
			}
			loss := func(in gradtest.Inputs) float64 {
				mean, information, share, _ := softmaxOnHost(in, noise)
				return dot(mean, in["toMean"].Data) + dot(information, in["toInformation"].Data) + dot(share, in["toShare"].Data)
			}
			exact := gradtest.Autodiff[float64](t, in, func(in map[string]*graph.Node) *graph.Node { return weighed(in, build(in)) })
			for _, input := range []string{"z", "w", "b"} {
				gradtest.Close(t, name+" gradient of "+input, exact[input], gradtest.FiniteDifference(in, input, loss), 1e-6)
			}
			sameBits(t, name+" gradient of values", exact["values"], make([]float64, 14))
		}
	}
}

// peak runs fn and returns the most heap in use meanwhile, above that before,
// with garbage collected early.
func peak(fn func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	var before, now runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		highest := uint64(0)
		for {
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
			select {
			case <-done:
				most <- highest - min(highest, before.HeapAlloc)
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	fn()
	close(done)
	return <-most
}

// Scores of 256 latents over 65536 codes take 64 MiB an array, and a step
// written over them a dozen; streamed, all of it fits in less than one.
func TestStreamedSoftmaxFitsLargeCodebooks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	in := choiceInputs(256, 65536, 2)
	used := peak(func() {
		got := gradtest.Autodiff[float32](t, in, func(in map[string]*graph.Node) *graph.Node {
			s := newChoice(affine, in["z"], []*graph.Node{in["w"], in["b"]}, seeded(in["z"])).softmax(in["values"], nil)
			return graph.ReduceAllSum(graph.Mul(s.mean, in["toMean"]))
		})
		for _, name := range []string{"z", "w", "b"} {
			if e := dot(got[name], got[name]); !(e > 0) || math.IsInf(e, 0) {
				t.Errorf("the gradient of %s has square %g", name, e)
			}
		}
	})
	if used > 60<<20 {
		t.Errorf("%d MiB were in use at once", used>>20)
	}
}

// The same of all outputs, at a size where a single array [N,K] is 64 MiB.
func TestStreamedSummariesNeverHoldAllScores(t *testing.T) {
	in := choiceInputs(256, 65536, 2)
	used := peak(func() {
		gradtest.Autodiff[float32](t, in, func(in map[string]*graph.Node) *graph.Node {
			c := choice{score: affine, latents: in["z"], codes: []*graph.Node{in["w"], in["b"]}}.inBlocks(1024, nil)
			return weighed(in, c.softmax(in["values"], in["rows"]))
		})
	})
	if used > 60<<20 {
		t.Errorf("%d MiB were in use at once", used>>20)
	}
}

// The code of the highest score is the same in blocks, and the first of equals.
func TestStreamedBestPrefersTheFirst(t *testing.T) {
	in := choiceInputs(40, 9, 3)
	in["b"].Data[1] = 2
	for _, code := range []int{4, 8} { // twins of code 1, in other blocks
		copy(in["w"].Data[code*3:code*3+3], in["w"].Data[3:6])
		in["b"].Data[code] = in["b"].Data[1]
	}
	_, _, _, want := softmaxOnHost(in, nil)
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		c := choice{score: affine, latents: in["z"], codes: []*graph.Node{in["w"], in["b"]}}.inBlocks(2, nil)
		return []*graph.Node{c.best(), c.softmax(nil, nil).index}
	})
	twins := 0
	for i, code := range want {
		if int(got[0][i]) != code || int(got[1][i]) != code {
			t.Errorf("row %d: codes %v and %v, want %d", i, got[0][i], got[1][i], code)
		}
		if code == 1 {
			twins++
		}
	}
	if twins == 0 {
		t.Error("no row chooses one of the twins")
	}
}

// Two gradients of one graph do not disturb each other, and scores far apart
// (a low temperature) neither overflow nor lose the entropy.
func TestStreamedSoftmaxOfSharpScores(t *testing.T) {
	in := choiceInputs(5, 7, 3)
	sharp := func(z *graph.Node, codes []*graph.Node, random *Random) *graph.Node {
		return graph.MulScalar(affine(z, codes, random), 300)
	}
	got := gradtest.Eval[float32](t, in, func(in map[string]*graph.Node) []*graph.Node {
		s := choice{score: sharp, latents: in["z"], codes: []*graph.Node{in["w"], in["b"]}}.inBlocks(2, nil).softmax(in["values"], nil)
		first := graph.Gradient(graph.ReduceAllSum(s.mean), in["z"])
		second := graph.Gradient(graph.ReduceAllSum(s.information), in["z"])
		return []*graph.Node{s.mean, s.information, first[0], second[0], graph.Gradient(graph.ReduceAllSum(s.mean), in["z"])[0]}
	})
	sameBits(t, "repeated gradient", got[4], got[2])
	for i, values := range got {
		for _, x := range values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				t.Fatalf("output %d holds %v", i, x)
			}
		}
	}
	for _, x := range got[1] {
		if x > 0 || x < -math.Log(7) {
			t.Errorf("Σ p log p is %g", x)
		}
	}
}
