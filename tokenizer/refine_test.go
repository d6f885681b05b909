package tokenizer

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// refined is a tokenizer of vectors of 4 numbers with 2 levels and a refining decoder, and its variables. Of a zero
// share u and shift are as they start.
func refined(t *testing.T, share float32) (*Tokenizer, weights.Set) {
	t.Helper()
	s, err := DefaultSpec("ste")
	if err != nil {
		t.Fatal(err)
	}
	s.Model.Dim, s.Model.Hidden, s.Model.Refine.Width = 0, nil, 5
	s.Quantizer.Codes, s.Quantizer.Levels, s.Quantizer.Beam = 8, 2, 3
	m, err := New(s, 4)
	if err != nil {
		t.Fatal(err)
	}
	set := m.InitNetwork(1, Sample{Mean: []float64{1, 2, 3, 4}, Variance: []float64{1, 4, 1, 4}})
	for _, name := range []string{"u", "shift", "bias"} {
		a := set[RefinePath+"/"+name]
		for i, v := range weights.Normal(weights.Rand(3, name), 1, a.Shape...).Data {
			a.Data[i] += share * v
		}
	}
	latents := weights.Normal(weights.Rand(2, "latents"), 1, 100, 4)
	quantizer, err := m.Quantizer.Init(vq.Latents{Rows: latents.Data, N: 100, Dim: 4}, weights.Rand(4, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	return m, set.Merge(vq.Prefix, quantizer)
}

func runtimeOf(t *testing.T, m *Tokenizer, set weights.Set) *Runtime {
	t.Helper()
	backend := gradtest.Engine(t)
	books, err := Usable(backend, m, set)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRuntime(backend, m, set, books)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// Decoded vectors are z + relu(z V + b) U + a, computed here in float64; of leading levels they are z alone. At the
// start both are the same, to the bit.
func TestRefinedVectors(t *testing.T) {
	const n = 40
	for _, share := range []float32{0, 0.5} {
		m, set := refined(t, share)
		r := runtimeOf(t, m, set)
		codes := make([]uint32, 2*n)
		for i := range codes {
			codes[i] = uint32(i*5) % 8
		}
		z, err := r.LookUp(t.Context(), codes, m.Cells(n), 2)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Decode(t.Context(), codes, n, 2)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := r.reconstruct(t.Context(), r.unrefined, z, n)
		if err != nil {
			t.Fatal(err)
		}
		if same := slices.Equal(got.Values, plain.Values); same != (share == 0) {
			t.Errorf("share %g: refined vectors equal those of the codes: %v", share, same)
		}
		v, u := set[RefinePath+"/v"], set[RefinePath+"/u"]
		for i := range n {
			want := make([]float64, 4)
			for j := range want {
				want[j] = float64(z[i*4+j]) + float64(set[RefinePath+"/shift"].Data[j])
			}
			for h := range 5 {
				hidden := float64(set[RefinePath+"/bias"].Data[h])
				for j := range 4 {
					hidden += float64(z[i*4+j]) * float64(v.Row(j)[h])
				}
				for j := range want {
					want[j] += max(0, hidden) * float64(u.Row(h)[j])
				}
			}
			for j := range want {
				want[j] = want[j]*float64(set["state/scale"].Data[j]) + float64(set["state/mean"].Data[j])
				if gap := math.Abs(want[j] - float64(got.Values[i*4+j])); gap > 1e-4 {
					t.Fatalf("share %g: row %d, coordinate %d is %g, want %g", share, i, j, got.Values[i*4+j], want[j])
				}
			}
		}
		first := make([]uint32, n)
		for i := range first {
			first[i] = codes[2*i]
		}
		if z, err = r.LookUp(t.Context(), first, m.Cells(n), 1); err != nil {
			t.Fatal(err)
		}
		one, err := r.Decode(t.Context(), first, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range one.Values {
			if want := z[i]*set["state/scale"].Data[i%4] + set["state/mean"].Data[i%4]; math.Abs(float64(x-want)) > 1e-5 {
				t.Fatalf("one level: number %d is %g, want %g", i, x, want)
			}
		}
	}
}

// Searches rank the rows with the nearest sums by their refined vectors: where all rows are candidates, as an exact search
// among the refined vectors does.
func TestSearchAmongRefinedVectors(t *testing.T) {
	m, set := refined(t, 0.5)
	r := runtimeOf(t, m, set)
	codes := []uint32{0, 1, 2, 3, 4, 5, 6, 7, 1, 6}
	rows, err := r.NewCodedRows(2)
	if err != nil || !rows.Tables() {
		t.Fatalf("the sums of codes have no look-up tables, %v", err)
	}
	if err := rows.Add(codes); err != nil {
		t.Fatal(err)
	}
	x, err := r.Decode(t.Context(), codes, 5, 2)
	if err != nil {
		t.Fatal(err)
	}
	items, distances := make([]uint32, 5), make([]float32, 5)
	if err := rows.Search(t.Context(), x.Values, 5, 1, items, distances, 0, nil); err != nil {
		t.Fatal(err)
	}
	if want := []uint32{0, 1, 2, 3, 4}; !slices.Equal(items, want) {
		t.Errorf("nearest rows %v at distances %v, want each itself", items, distances)
	}
	const n, queries, k = 90, 300, 7
	many := make([]uint32, 2*n)
	for i := range many {
		many[i] = uint32(i*i+i/3) % 8
	}
	if rows, err = r.NewCodedRows(2); err == nil {
		err = rows.Add(many)
	}
	if err != nil || rows.Candidates(k) != n {
		t.Fatalf("%d candidates, %v", rows.Candidates(k), err)
	}
	if x, err = r.Decode(t.Context(), many, n, 2); err != nil {
		t.Fatal(err)
	}
	exact, err := index.NewExact(index.Euclidean, x.Values, n, 4)
	if err != nil {
		t.Fatal(err)
	}
	asked := weights.Normal(weights.Rand(9, "queries"), 3, queries, 4).Data
	found, gaps := make([]uint32, queries*k), make([]float32, queries*k)
	want, wantGaps := make([]uint32, queries*k), make([]float32, queries*k)
	exact.Search(asked, queries, k, want, wantGaps, index.SearchOptions{})
	if err := rows.Search(t.Context(), asked, queries, k, found, gaps, 0, nil); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found, want) || !slices.Equal(gaps, wantGaps) {
		t.Error("rows or distances are not those of an exact search among refined vectors")
	}
	if rows, err = r.NewCodedRows(1); err != nil || !rows.Tables() || rows.Candidates(1) != 0 {
		t.Errorf("one level has no look-up tables, %v", err)
	}
}

// Gradients of the refinement are those of finite differences in float64.
func TestRefineGradients(t *testing.T) {
	value := func(seed uint64, shape ...int) gradtest.Value {
		a := weights.Normal(weights.Rand(seed, "value"), 1, shape...)
		out := gradtest.Value{Shape: shape}
		for _, x := range a.Data {
			out.Data = append(out.Data, float64(x))
		}
		return out
	}
	in := gradtest.Inputs{"z": value(1, 6, 3), "v": value(2, 3, 4), "bias": value(3, 4), "u": value(4, 4, 3), "shift": value(5, 3),
		"weight": value(6, 6, 3)}
	got := gradtest.Autodiff[float64](t, in, func(nodes map[string]*graph.Node) *graph.Node {
		v := weights.NewVars(func(path string) *graph.Node { return nodes[strings.TrimPrefix(path, RefinePath+"/")] })
		return graph.ReduceAllSum(graph.Mul(Refine{Width: 4}.build(v, nodes["z"], nil), nodes["weight"]))
	})
	host := func(in gradtest.Inputs) float64 {
		total := 0.0
		for i := range 6 {
			out := slices.Clone(in["shift"].Data)
			for j := range out {
				out[j] += in["z"].Data[i*3+j]
			}
			for h := range 4 {
				hidden := in["bias"].Data[h]
				for j := range 3 {
					hidden += in["z"].Data[i*3+j] * in["v"].Data[j*4+h]
				}
				for j := range out {
					out[j] += max(0, hidden) * in["u"].Data[h*3+j]
				}
			}
			for j, y := range out {
				total += y * in["weight"].Data[i*3+j]
			}
		}
		return total
	}
	for _, name := range []string{"z", "v", "bias", "u", "shift"} {
		gradtest.Close(t, name, got[name], gradtest.FiniteDifference(in, name, host), 1e-6)
	}
}

func TestRefineSettings(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		"model.refine.width: -1 must not":    func(c *Config) { c.Refine.Width = -1 },
		"model.refine.drop: 1 must be":       func(c *Config) { c.Refine.Drop = 1 },
		"quantized as they are; set it to 0": func(c *Config) { c.Refine.Width, c.Dim = 8, 4 },
		"model.refine.width: is for vectors": func(c *Config) { c.Refine.Width, c.Image.Size = 8, 32 },
	} {
		c := Default()
		c.Dim, c.Hidden = 0, nil
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
