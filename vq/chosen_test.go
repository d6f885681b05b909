package vq

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/weights"
)

// chosenReference is a stack of softmax-chosen levels in plain float64, written
// from the papers' formulas. Its first evaluation freezes the arguments of
// stop-gradients: chosen codes, probabilities, residuals and codes.
type chosenReference struct {
	config Config
	n, d   int
	noise  [][]float64 // of each level [n,K]; nil without
	tau    float64
	frozen []frozenLevel
}

type frozenLevel struct {
	chosen   []int
	p, rest  []float64 // [n,K], [n,d]
	hardCode []float64 // [n,d]
}

// bookOf returns the codes of a level in the space they are mixed in, and the
// map from there to the decoder's.
func (r *chosenReference) bookOf(in gradtest.Inputs, level string) (book matrix, back func([]float64) []float64) {
	codes := matrix{in[level+"/codes"].Data, r.d}
	if r.config.Method != "hypervq" {
		return codes, func(x []float64) []float64 { return x }
	}
	root, scale := math.Sqrt(r.config.Curvature), in[level+"/state/scale"].Data[0]
	book = matrix{nil, r.d}
	for k := range codes.rows() {
		length, offset := math.Sqrt(dot(codes.row(k), codes.row(k))), in[level+"/feature/offset"].Data[k]
		for _, a := range codes.row(k) {
			book.data = append(book.data, math.Tanh(root*offset)/root*a/length)
		}
	}
	return book, func(x []float64) []float64 { // log0
		length := math.Sqrt(dot(x, x))
		out := make([]float64, len(x))
		for j := range x {
			out[j] = scale * math.Atanh(root*length) / (root * length) * x[j]
		}
		return out
	}
}

// logit is the score of code k for a residual.
func (r *chosenReference) logit(in gradtest.Inputs, level string, rest []float64, k int) float64 {
	code := in[level+"/codes"].Data[k*r.d : (k+1)*r.d]
	switch r.config.Method {
	case "gumbel":
		return dot(in[level+"/projection/weight"].Data[k*r.d:(k+1)*r.d], rest) + in[level+"/projection/bias"].Data[k]
	case "ibq":
		return dot(code, rest)
	}
	c, scale, offset := r.config.Curvature, in[level+"/state/scale"].Data[0], in[level+"/feature/offset"].Data[k]
	root, far, normal := math.Sqrt(c), math.Sqrt(dot(rest, rest))/scale, math.Sqrt(dot(code, code))
	x := make([]float64, r.d) // exp0(clip z)
	for j := range x {
		x[j] = math.Tanh(root*math.Min(far, farthest/root)) / root * rest[j] / (far * scale)
	}
	square := dot(x, x)
	inside := (2*root*dot(x, code)/normal*math.Cosh(2*root*offset) - (1+c*square)*math.Sinh(2*root*offset)) / (1 - c*square)
	return 2 * normal / root * math.Asinh(inside)
}

// softmaxOf is softmax(scores/temperature) with noise added before.
func softmaxOf(scores, noise []float64, temperature float64) []float64 {
	p, top, sum := make([]float64, len(scores)), math.Inf(-1), 0.0
	for k, s := range scores {
		if noise != nil {
			s += noise[k]
		}
		p[k] = s / temperature
		top = math.Max(top, p[k])
	}
	for k := range p {
		p[k] = math.Exp(p[k] - top)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// total is Σ weight·z_q + loss at the given inputs.
func (r *chosenReference) total(in gradtest.Inputs, weight []float64) float64 {
	total, first := 0.0, r.frozen == nil
	rest := slices.Clone(in["z"].Data)
	for l := range r.config.Levels {
		level := fmt.Sprintf("level%d", l)
		book, back := r.bookOf(in, level)
		k, n := book.rows(), float64(r.n)
		if first {
			r.frozen = append(r.frozen, frozenLevel{rest: slices.Clone(rest)})
		}
		f := &r.frozen[l]
		together := make([]float64, k)
		for i := range r.n {
			z := rest[i*r.d : (i+1)*r.d]
			scores := make([]float64, k)
			for c := range scores {
				scores[c] = r.logit(in, level, z, c)
			}
			var noise []float64
			if r.noise != nil {
				noise = r.noise[l][i*k : (i+1)*k]
			}
			p := softmaxOf(scores, noise, r.tau)
			if first {
				chosen := 0
				for c := range p {
					if p[c] > p[chosen] {
						chosen = c
					}
				}
				f.chosen, f.p = append(f.chosen, chosen), append(f.p, p...)
				f.hardCode = append(f.hardCode, back(book.row(chosen))...)
			}
			mixed := slices.Clone(book.row(f.chosen[i])) // (onehot + p - sg p)·codes
			for c := range p {
				for j, x := range book.row(c) {
					mixed[j] += (p[c] - f.p[i*k+c]) * x
				}
			}
			mixed = back(mixed)
			total += r.losses(f, i, z, mixed, back(book.row(f.chosen[i])), scores, together)
			for j, x := range mixed {
				total += weight[i*r.d+j] * x
				z[j] -= x
			}
		}
		if r.config.Method == "ibq" {
			for _, p := range together {
				total += r.config.Entropy.Weight * p / n * math.Log(p/n)
			}
		}
	}
	return total
}

// losses of row i; together collects the entropy loss's probabilities.
func (r *chosenReference) losses(f *frozenLevel, i int, z, mixed, code, scores, together []float64) float64 {
	n, loss := float64(r.n), 0.0
	if r.config.Method != "ibq" {
		for _, q := range softmaxOf(scores, nil, 1) {
			loss += r.config.Gumbel.Prior / n * q * math.Log(float64(len(scores))*q+1e-10)
		}
		for j := range z {
			loss += r.config.Loss.Commitment * math.Pow(z[j]-f.hardCode[i*r.d+j], 2) / (n * float64(r.d))
		}
		return loss
	}
	for j := range z {
		at := i*r.d + j
		loss += (math.Pow(mixed[j]-z[j], 2) + math.Pow(code[j]-f.rest[at], 2) + 0.25*math.Pow(z[j]-f.hardCode[at], 2)) / (n * float64(r.d))
	}
	for c, p := range softmaxOf(scores, nil, r.config.Entropy.Temperature) {
		loss -= r.config.Entropy.Weight / n * p * math.Log(p)
		together[c] += p
	}
	return loss
}

// chosenMethods are the methods that choose among all codes by a softmax.
var chosenMethods = []string{"gumbel", "ibq", "hypervq"}

// chosenConfig is small, with losses heavy enough to be seen.
func chosenConfig(t testing.TB, method string, levels int) Config {
	c := small(t, method, levels)
	c.Gumbel.Prior, c.Entropy.Temperature, c.Curvature = 0.3, 0.2, 0.7
	return c
}

// Forward values and gradients of latents and every parameter equal the formulas;
// for one level and two, with noise and without, half-way through the
// temperature's schedule.
func TestChosenCodesFollowTheirFormulas(t *testing.T) {
	const n, d = 7, 3
	for _, method := range chosenMethods {
		for _, levels := range []int{1, 2} {
			for _, noisy := range []bool{false, true} {
				name := fmt.Sprintf("%s levels %d noise %v", method, levels, noisy)
				c := chosenConfig(t, method, levels)
				f := newFixture(t, c, d, n)
				in := f.inputs()
				names := in.Names()
				in["weight"] = random(newRand(5), n, d)
				r := &chosenReference{config: c, n: n, d: d, tau: math.Sqrt(0.1)} // half-way from 1 to 0.1
				if method == "ibq" {
					r.tau = 1
				}
				if noisy && method != "ibq" {
					r.noise = gradtest.Eval[float64](t, in, func(in map[string]*graph.Node) []*graph.Node {
						source, zero := seeded(in["z"]), graph.Zeros(in["z"].Graph(), shapes.Make(in["z"].DType(), n, c.Codes))
						var noise []*graph.Node
						for range levels {
							noise = append(noise, NewRandom(source.split()).withGumbel(zero))
						}
						return noise
					})
				}
				build := func(nodes map[string]*graph.Node) []*graph.Node {
					ctx := training(nodes)
					ctx.Progress = graph.Const(nodes["z"].Graph(), float32(0.5))
					if noisy {
						ctx.Random = seeded(nodes["z"])
					}
					out := f.q.Build(ctx, nodes["z"])
					total := graph.Add(graph.ReduceAllSum(graph.Mul(out.Soft, nodes["weight"])), out.Loss)
					wrt := make([]*graph.Node, len(names))
					for i, name := range names {
						wrt[i] = nodes[name]
					}
					return append([]*graph.Node{total, out.Index}, graph.Gradient(total, wrt...)...)
				}
				want := r.total(in, in["weight"].Data)
				got, narrow := gradtest.Eval[float64](t, in, build), gradtest.Eval[float32](t, in, build)
				gradtest.Close(t, name+" value", got[0], []float64{want}, 1e-6)
				for i, code := range got[1] {
					if chosen := r.frozen[i%levels].chosen[i/levels]; int(code) != chosen {
						t.Errorf("%s: position %d is code %v, want %d", name, i, code, chosen)
					}
				}
				for i, input := range names {
					if weights.GroupOf(input) == weights.State {
						continue // never trained
					}
					difference := gradtest.FiniteDifference(in, input, func(in gradtest.Inputs) float64 { return r.total(in, in["weight"].Data) })
					gradtest.Close(t, name+" gradient of "+input, got[2+i], difference, 1e-6)
					if !noisy { // in float32 the engine draws other noise
						gradtest.Close(t, name+" float32 gradient of "+input, narrow[2+i], difference, 1e-3)
					}
				}
			}
		}
	}
}

// A code moved onto a latent is the one that latent chooses from then on, and no
// other code changes.
func TestPlacedCodesAreChosen(t *testing.T) {
	for _, method := range chosenMethods {
		c := chosenConfig(t, method, 1)
		f := newFixture(t, c, 3, 1)
		look := func() [][]float64 {
			return f.eval32(t, func(ctx *Context, z *graph.Node) []*graph.Node {
				return []*graph.Node{f.q.Codebooks(ctx)[0], f.q.Build(&Context{Vars: ctx.Vars}, z).Index}
			})
		}
		before := look()
		row := (int(before[1][0]) + 1) % c.Codes
		target := []float32{float32(f.z.Data[0]), float32(f.z.Data[1]), float32(f.z.Data[2])}
		touched, err := Place(f.q, f.set, 0, []int{row}, target)
		if err != nil {
			t.Fatal(err)
		}
		after := look()
		if int(after[1][0]) != row {
			t.Errorf("%s: the latent chooses code %v, not %d that was placed on it", method, after[1][0], row)
		}
		for k := range c.Codes {
			old, now := before[0][3*k:3*k+3], after[0][3*k:3*k+3]
			if k != row {
				sameBits(t, method+" other code", now, old)
			} else if along := dot(now, f.z.Data) / math.Sqrt(dot(now, now)*dot(f.z.Data, f.z.Data)); along < 1-1e-6 {
				t.Errorf("%s: the placed code has cosine %g with its target", method, along)
			}
		}
		for _, at := range touched {
			if at.Row != row || f.set[at.Path] == nil {
				t.Errorf("%s: touched %+v", method, at)
			}
		}
	}
}

func TestChosenCodesRefuseWhatDoesNotFit(t *testing.T) {
	for _, method := range chosenMethods {
		for field, break_ := range map[string]func(c *Config){
			"quantizer.learn":        func(c *Config) { c.Learn = "ema" },
			"quantizer.cache.period": func(c *Config) { c.Cache.Period = 4 },
		} {
			c := mustDefaults(t, method)
			break_(&c)
			mentions(t, c.Validate(8), field, method)
		}
		q, err := New(mustDefaults(t, method), 8)
		if err != nil {
			t.Fatal(err)
		}
		if Searchable(q) {
			t.Errorf("%s: codes are said to be the nearest ones", method)
		}
	}
	for field, c := range map[string]Config{
		"quantizer.gumbel":     func() Config { c := STGumbel.Config(); c.Gumbel.End = 0; return c }(),
		"quantizer.entropy":    func() Config { c := IBQ.Config(); c.Entropy.Temperature = 0; return c }(),
		"quantizer.curvature":  func() Config { c := HyperVQ.Config(); c.Curvature = 0; return c }(),
		"quantizer.loss.usage": func() Config { c := HyperVQ.Config(); c.Loss.Usage = 1; return c }(),
	} {
		mentions(t, c.Validate(8), field)
	}
}
