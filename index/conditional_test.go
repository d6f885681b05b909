package index

import (
	"math"
	"slices"
	"testing"
)

// conditionKinds are conditions of codes [k,d] with last layers of the given size; zero
// leaves codes as they are.
var conditionKinds = map[string]func(seed uint64, codes *Codes, last float32) Condition{
	"affine": func(seed uint64, codes *Codes, last float32) Condition {
		const h = 9
		d := codes.d
		return Affine{Hidden: h, Q: scaled(seed, 0.5, d*h), Bias: scaled(seed+1, 0.2, h), U: scaled(seed+2, last, h*2*d)}
	},
	"implicit": func(seed uint64, codes *Codes, last float32) Condition { // hidden layer narrower than d
		return Implicit{Blocks: []Block{randomBlock(seed, codes.d, 5, last)}, Shortlist: near(seed, codes, last), Candidates: 12}
	},
	"implicit, wide": func(seed uint64, codes *Codes, last float32) Condition {
		return Implicit{Blocks: []Block{randomBlock(seed, codes.d, 40, last)}, Shortlist: near(seed, codes, last), Candidates: 12}
	},
	"implicit, all": func(seed uint64, codes *Codes, last float32) Condition {
		return Implicit{Blocks: []Block{randomBlock(seed, codes.d, 7, last)}, Shortlist: codes.rows, Candidates: codes.k}
	},
	"implicit, two blocks": func(seed uint64, codes *Codes, last float32) Condition {
		blocks := []Block{randomBlock(seed, codes.d, 5, last), randomBlock(seed+9, codes.d, 8, last)}
		return Implicit{Blocks: blocks, Shortlist: near(seed, codes, last), Candidates: 12}
	},
	"qinco": func(seed uint64, codes *Codes, last float32) Condition {
		d := codes.d
		blocks := []Block{randomBlock(seed, d, 5, last), randomBlock(seed+9, d, 8, last)}
		for i := range blocks {
			blocks[i].Q, blocks[i].Bias = nil, nil
		}
		concat := &Concat{Codes: scaled(seed+20, last, d*d), Sent: scaled(seed+21, last, d*d), Bias: scaled(seed+22, last, d)}
		return Implicit{Concat: concat, Blocks: blocks, Shortlist: near(seed, codes, last), Candidates: 12}
	},
}

func scaled(seed uint64, size float32, n int) []float32 {
	x := normals(seed, n)
	for i := range x {
		x[i] *= size
	}
	return x
}

func near(seed uint64, codes *Codes, distance float32) []float32 {
	x := slices.Clone(codes.rows)
	for i, v := range scaled(seed+50, distance, len(x)) {
		x[i] += v
	}
	return x
}

func randomBlock(seed uint64, d, h int, last float32) Block {
	return Block{
		Hidden: h, P: scaled(seed+30, 0.5, d*h), Q: scaled(seed+31, 0.5, d*h), Bias: scaled(seed+32, 0.2, h), U: scaled(seed+33, last, h*d),
	}
}

// newConditional gives every level after the first of a plain encoder a condition.
func newConditional(t testing.TB, kind string, plain *Residual, last float32) *Residual {
	t.Helper()
	conditions := make([]Condition, len(plain.levels))
	for l := 1; l < len(conditions); l++ {
		conditions[l] = conditionKinds[kind](uint64(100*l), plain.levels[l], last)
	}
	q, err := NewConditional(plain.levels, conditions)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// definition returns the vectors [k,d] of all codes of a condition, in float64.
func definition(c Condition, codes *Codes, sent []float64) [][]float64 {
	d := codes.d
	product := func(x []float64, w []float32, out int) []float64 {
		y := make([]float64, out)
		for j, v := range x {
			for o := range y {
				y[o] += v * float64(w[j*out+o])
			}
		}
		return y
	}
	relu := func(x []float64, bias []float32) []float64 {
		for i := range x {
			if bias != nil {
				x[i] += float64(bias[i])
			}
			x[i] = math.Max(0, x[i])
		}
		return x
	}
	plus := func(a, b []float64) {
		for i := range a {
			a[i] += b[i]
		}
	}
	var list [][]float64
	for k := range codes.k {
		v := make([]float64, d)
		for j, x := range codes.Row(k) {
			v[j] = float64(x)
		}
		switch c := c.(type) {
		case nil:
		case Affine:
			terms := product(relu(product(sent, c.Q, c.Hidden), c.Bias), c.U, 2*d)
			for j, t := range terms[d:] {
				u := t / (4 * (1 + math.Abs(t)))
				v[j] = terms[j] + (1+u)/(1-u)*v[j]
			}
		case Implicit:
			if c.Concat != nil {
				own := product(v, c.Concat.Codes, d)
				plus(v, own)
				plus(v, product(sent, c.Concat.Sent, d))
				for j, x := range c.Concat.Bias {
					v[j] += float64(x)
				}
			}
			for _, b := range c.Blocks {
				inner := product(v, b.P, b.Hidden)
				if b.Q != nil {
					plus(inner, product(sent, b.Q, b.Hidden))
				}
				plus(v, product(relu(inner, b.Bias), b.U, d))
			}
		}
		list = append(list, v)
	}
	return list
}

// A condition whose last layers are zero leaves the codes of every beam as they are, to
// the bit, on every kernel; so does the vector of the codes.
func TestConditionsWithoutEffectChangeNothing(t *testing.T) {
	const n, d = 300, 11
	x := normals(1, n*d)
	for _, kern := range supportedKernels() {
		plain := newResidual(t, kern, 5, d, 20, 37, 64, 64)
		for kind := range conditionKinds {
			q := newConditional(t, kind, plain, 0)
			for _, beam := range []int{1, 2, 8, 20} {
				want, got := make([]uint32, n*4), make([]uint32, n*4)
				plain.Encode(x, n, 0, beam, want, 1)
				q.Encode(x, n, 0, beam, got, 1)
				if !slices.Equal(got, want) {
					t.Errorf("%s, %s, beam %d: other codes than without a condition", kern.name, kind, beam)
				}
				vectors, decoded := make([]float32, n*d), make([]float32, n*d)
				if err := plain.Decode(want, n, 0, vectors); err != nil {
					t.Fatal(err)
				}
				if err := q.Decode(want, n, 0, decoded); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(decoded, vectors) {
					t.Errorf("%s, %s: other vectors than without a condition", kern.name, kind)
				}
			}
		}
	}
}

// Vectors follow the formulas, and greedy codes are the nearest of all vectors where the
// search is exact, or of those that the shortlist proposes.
func TestConditionalCodesFollowTheirFormulas(t *testing.T) {
	const n, d, levels = 60, 9, 3
	x := normals(3, n*d)
	for _, kern := range supportedKernels() {
		plain := newResidual(t, kern, 5, d, 16, 40, 24)
		for kind, make_ := range conditionKinds {
			q := newConditional(t, kind, plain, 0.2)
			codes := make([]uint32, n*levels)
			q.Encode(x, n, 0, 1, codes, 1)
			decoded := make([]float32, n*d)
			if err := q.Decode(codes, n, 0, decoded); err != nil {
				t.Fatal(err)
			}
			changed := false
			for i := range n {
				sent, left := make([]float64, d), make([]float64, d)
				for j := range left {
					left[j] = float64(x[i*d+j])
				}
				for l := range levels {
					var c Condition
					if l > 0 {
						c = make_(uint64(100*l), plain.levels[l], 0.2)
					}
					all := definition(c, plain.levels[l], sent)
					code := int(codes[i*levels+l])
					allowed := proposals(c, plain.levels[l], left)
					best := slices.MinFunc(allowed, func(a, b int) int {
						return int(math.Copysign(1, squares(left, all[a])-squares(left, all[b])))
					})
					if e, least := squares(left, all[code]), squares(left, all[best]); e > least*(1+1e-5) {
						t.Fatalf("%s, %s: row %d, level %d: code %d at %g, code %d at %g", kern.name, kind, i, l, code, e, best, least)
					}
					own := definition(nil, plain.levels[l], sent)
					changed = changed || slices.ContainsFunc(own, func(v []float64) bool { return squares(left, v) < squares(left, own[code]) })
					for j, v := range all[code] {
						sent[j], left[j] = sent[j]+v, left[j]-v
					}
				}
				for j, v := range sent {
					if got := float64(decoded[i*d+j]); math.Abs(got-v) > 1e-4 {
						t.Fatalf("%s, %s: row %d decodes to %g at %d, want %g", kern.name, kind, i, got, j, v)
					}
				}
			}
			if !changed {
				t.Errorf("%s: all codes are the nearest without a condition: the test shows nothing", kind)
			}
		}
	}
}

// proposals lists the codes that a condition compares for a residual.
func proposals(c Condition, codes *Codes, left []float64) []int {
	list := make([]int, codes.k)
	for i := range list {
		list[i] = i
	}
	implicit, ok := c.(Implicit)
	if !ok || implicit.Candidates >= codes.k {
		return list
	}
	distance := func(i int) float64 {
		sum := 0.0
		for j, v := range implicit.Shortlist[i*codes.d : (i+1)*codes.d] {
			sum += (left[j] - float64(v)) * (left[j] - float64(v))
		}
		return sum
	}
	slices.SortFunc(list, func(a, b int) int { return int(math.Copysign(1, distance(a)-distance(b))) })
	return list[:implicit.Candidates]
}

func squares(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return sum
}

// All kernels give the same codes and vectors; codes depend on neither the batch nor
// the workers; a wider beam is not worse in sum; a beam as wide as all combinations finds
// the best one.
func TestConditionalBeams(t *testing.T) {
	const n, d, levels = 90, 6, 3
	x := normals(4, n*d)
	for kind := range conditionKinds {
		var first map[int][]uint32
		for _, kern := range supportedKernels() {
			q := newConditional(t, kind, newResidual(t, kern, 5, d, 12, 33, 14), 0.2)
			got, last := map[int][]uint32{}, math.Inf(1)
			for _, beam := range []int{1, 4, 30} {
				codes := make([]uint32, n*levels)
				q.Encode(x, n, 0, beam, codes, 1)
				got[beam] = codes
				for _, split := range []int{1, 7, 50} {
					again := make([]uint32, n*levels)
					for from := 0; from < n; from += split {
						to := min(n, from+split)
						q.Encode(x[from*d:], to-from, 0, beam, again[from*levels:], 3)
					}
					if !slices.Equal(again, codes) {
						t.Errorf("%s, %s, beam %d: codes depend on batches of %d", kern.name, kind, beam, split)
					}
				}
				total := 0.0
				for _, e := range rowErrors(t, q, x, codes, n, levels) {
					total += e
				}
				if total > last {
					t.Errorf("%s, %s: beam %d has error %g, a narrower one %g", kern.name, kind, beam, total, last)
				}
				last = total
			}
			if first == nil {
				first = got
			}
			for beam, codes := range got {
				if !slices.Equal(codes, first[beam]) {
					t.Errorf("%s, %s, beam %d: codes differ between kernels", kern.name, kind, beam)
				}
			}
		}
	}
	q := newConditional(t, "implicit, all", newResidual(t, bestKernel, 5, d, 4, 5, 6), 0.3)
	codes := make([]uint32, n*levels)
	q.Encode(x, n, 0, 120, codes, 0)
	found := rowErrors(t, q, x, codes, n, levels)
	least := slices.Repeat([]float64{math.Inf(1)}, n)
	for a := range uint32(4) {
		for b := range uint32(5) {
			for c := range uint32(6) {
				for i, e := range rowErrors(t, q, x, slices.Repeat([]uint32{a, b, c}, n), n, levels) {
					least[i] = min(least[i], e)
				}
			}
		}
	}
	for i := range found {
		if found[i] > least[i]*(1+1e-6) {
			t.Errorf("row %d: error %g, the best combination has %g", i, found[i], least[i])
		}
	}
}

// Fewer levels use the first ones; rows that are not finite get zeros; parts side by side
// give the codes of each part alone.
func TestConditionalEdges(t *testing.T) {
	const n, d, levels = 40, 6, 3
	x := normals(4, n*d)
	x[5] = float32(math.NaN())
	for kind := range conditionKinds {
		q := newConditional(t, kind, newResidual(t, bestKernel, 5, d, 12, 33, 14), 0.2)
		for _, beam := range []int{1, 5} {
			all, two := make([]uint32, n*levels), make([]uint32, n*2)
			q.Encode(x, n, 0, beam, all, 0)
			q.Encode(x, n, 2, beam, two, 0)
			if !slices.Equal(all[:levels], []uint32{0, 0, 0}) {
				t.Errorf("%s: a row with a NaN has codes %v", kind, all[:levels])
			}
			for i := range n {
				if beam == 1 && !slices.Equal(two[i*2:i*2+2], all[i*levels:i*levels+2]) {
					t.Errorf("%s: row %d: codes %v of two levels, %v of three", kind, i, two[i*2:i*2+2], all[i*levels:(i+1)*levels])
				}
			}
			p, err := NewProduct(q, q)
			if err != nil {
				t.Fatal(err)
			}
			twice, parts := make([]float32, 2*n*d), make([]uint32, 2*n*levels)
			for i := range n {
				copy(twice[2*i*d:], x[i*d:(i+1)*d])
				copy(twice[(2*i+1)*d:], x[i*d:(i+1)*d])
			}
			p.Encode(twice, n, 0, beam, parts, 0)
			decoded, single := make([]float32, 2*n*d), make([]float32, n*d)
			if err := p.Decode(parts, n, 0, decoded); err != nil {
				t.Fatal(err)
			}
			if err := q.Decode(all, n, 0, single); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				want := slices.Concat(all[i*levels:(i+1)*levels], all[i*levels:(i+1)*levels])
				if !slices.Equal(parts[2*i*levels:2*(i+1)*levels], want) {
					t.Fatalf("%s: row %d: parts have codes %v, want %v", kind, i, parts[2*i*levels:2*(i+1)*levels], want)
				}
				if !slices.Equal(decoded[2*i*d:(2*i+1)*d], single[i*d:(i+1)*d]) {
					t.Fatalf("%s: row %d decodes differently as a part", kind, i)
				}
			}
		}
		if err := q.Decode([]uint32{0, 33, 0}, 1, 0, make([]float32, d)); err == nil {
			t.Errorf("%s: a code outside the codebook was decoded", kind)
		}
	}
}

func TestConditionErrors(t *testing.T) {
	plain := newResidual(t, bestKernel, 1, 4, 8, 8)
	good := conditionKinds["affine"](1, plain.levels[1], 1)
	bad := good.(Affine)
	bad.U = bad.U[1:]
	for name, conditions := range map[string][]Condition{
		"too few": {nil}, "of the first level": {good, good}, "of another size": {nil, bad},
		"without candidates": {nil, Implicit{Shortlist: plain.levels[1].rows}},
	} {
		if _, err := NewConditional(plain.levels, conditions); err == nil {
			t.Errorf("conditions %s were accepted", name)
		}
	}
}
