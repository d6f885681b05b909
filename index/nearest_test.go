package index

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// bruteForce is the definition of Nearest, with a plain loop over codes.
func bruteForce(x, rows []float32, n, k, d int) (index []uint32, dist []float32) {
	index, dist = make([]uint32, n), make([]float32, n)
	for i := range n {
		best := math.Inf(1)
		for j := range k {
			if s := SquaredDistance(x[i*d:(i+1)*d], rows[j*d:(j+1)*d]); s < best {
				best, index[i], dist[i] = s, uint32(j), float32(s)
			}
		}
	}
	return index, dist
}

// problem is a search problem: x [n,d] against rows [k,d].
type problem struct {
	name    string
	n, k, d int
	x, rows []float32
}

func randomProblem(n, k, d int) problem {
	seed := uint64(n*1_000_003 + k*1009 + d)
	return problem{fmt.Sprintf("random n=%d k=%d d=%d", n, k, d), n, k, d, normals(seed, n*d), normals(seed+1, k*d)}
}

// hardProblems are those on which a plain float32 search goes wrong.
func hardProblems() []problem {
	const n, k, d = 67, 150, 24
	rng := rand.New(rand.NewPCG(3, 4))
	fill := func(name string, x, code func(i, j int) float32) problem {
		p := problem{name: name, n: n, k: k, d: d, x: make([]float32, n*d), rows: make([]float32, k*d)}
		for i := range p.rows {
			p.rows[i] = code(i/d, i%d)
		}
		for i := range p.x {
			p.x[i] = x(i/d, i%d)
		}
		return p
	}
	noise := func(scale float64) func(i, j int) float32 {
		return func(i, j int) float32 { return float32(scale * rng.NormFloat64()) }
	}
	offset := func(scale float64) func(i, j int) float32 {
		return func(i, j int) float32 { return float32(1000 + scale*rng.NormFloat64()) }
	}
	lattice := func(i, j int) float32 { return float32(rng.IntN(2)) }
	ulp := func(i, j int) float32 {
		return math.Float32frombits(math.Float32bits(1+float32(j)) + uint32(rng.IntN(3)))
	}
	centres := normals(9, 5*d)
	tight := func(i, j int) float32 { return centres[i%5*d+j] + float32(1e-6*rng.NormFloat64()) }
	mixed := func(i, j int) float32 { return float32(math.Pow(10, float64(i%9-4)) * rng.NormFloat64()) }
	repeated := fill("repeated codes", noise(1), noise(1))
	for i := 40; i < k; i++ {
		copy(repeated.rows[i*d:(i+1)*d], repeated.rows[i*7%40*d:])
	}
	return []problem{
		repeated,
		fill("far from the origin", offset(0.01), offset(0.01)),
		fill("exact ties on a lattice", lattice, lattice),
		fill("codes a few ulp apart", ulp, ulp),
		fill("codes a few ulp apart, rows elsewhere", noise(3), ulp),
		fill("tight clusters", tight, tight),
		fill("lengths over nine decades", mixed, mixed),
		fill("beyond the float32 range when squared", noise(1e30), noise(1e30)),
		fill("below the float32 range when squared", noise(1e-30), noise(1e-30)),
		fill("subnormal", noise(1e-42), noise(1e-42)),
		fill("largest numbers", func(i, j int) float32 { return math.MaxFloat32 * float32(1-2*(i%2)) },
			func(i, j int) float32 { return math.MaxFloat32 * float32(1-2*rng.IntN(2)) }),
	}
}

func TestNearestMatchesDefinition(t *testing.T) {
	problems := hardProblems()
	for _, d := range []int{1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100, 128, 130} {
		problems = append(problems, randomProblem(9, 70, d))
	}
	for _, k := range []int{1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 257, 1000} {
		problems = append(problems, randomProblem(13, k, 12))
	}
	for _, n := range []int{0, 1, 2, 7, 8, 9, 127, 128, 129, 300} {
		problems = append(problems, randomProblem(n, 40, 6))
	}
	for _, kern := range supportedKernels() {
		for _, p := range problems {
			t.Run(kern.name+"/"+p.name, func(t *testing.T) {
				codes, err := newCodesWith(kern, p.rows, p.k, p.d)
				if err != nil {
					t.Fatal(err)
				}
				wantIndex, wantDist := bruteForce(p.x, p.rows, p.n, p.k, p.d)
				index, dist := make([]uint32, p.n), make([]float32, p.n)
				codes.Nearest(p.x, p.n, index, dist, 2)
				for i := range index {
					if index[i] != wantIndex[i] || dist[i] != wantDist[i] {
						t.Fatalf("row %d: code %d at %v, want %d at %v", i, index[i], dist[i], wantIndex[i], wantDist[i])
					}
				}
				clear(index)
				codes.Nearest(p.x, p.n, index, nil, 1)
				for i := range index {
					if index[i] != wantIndex[i] {
						t.Fatalf("without distances, row %d: code %d, want %d", i, index[i], wantIndex[i])
					}
				}
			})
		}
	}
}

// TestScoreErrorBound checks the bound that the exactness of Nearest rests on
// against the error that the kernels really make, and that it is not so loose
// as to send ordinary rows to the slow path.
func TestScoreErrorBound(t *testing.T) {
	const n, k, d = groupRows, panelCodes, 96
	x, rows := normals(5, n*d), normals(6, k*d)
	for _, kern := range supportedKernels() {
		codes, err := newCodesWith(kern, rows, k, d)
		if err != nil {
			t.Fatal(err)
		}
		s := takeScratch(n, d)
		codes.packRows(s, x, n)
		panel, half := codes.panel(0)
		got := make([]float32, n*k)
		kern.scores(panel, half, s.groups, got, k)
		worst := 0.0
		for i := range n {
			bound := codes.scoreError(codes.rowNorm(s.squares[i]), codes.norm)
			for j := range k {
				var want float64
				for l := range d {
					c := float64(rows[j*d+l]) - float64(codes.mean[l])
					want += c*c/2 - c*(float64(x[i*d+l])-float64(codes.mean[l]))
				}
				worst = max(worst, math.Abs(float64(got[i*k+j])-want)/bound)
			}
		}
		s.release()
		if worst > 1 || worst < 1e-3 {
			t.Errorf("%s: largest error is %.3g of the bound, want between 0.001 and 1", kern.name, worst)
		}
	}
}

func TestScoresAgreeToTheBit(t *testing.T) {
	for _, d := range []int{1, 2, 3, 4, 5, 9, 64, 67} {
		panel, half, group := normals(1, d*panelCodes), normals(2, panelCodes), normals(3, d*groupRows)
		const stride = panelCodes + 5
		want := make([]float32, groupRows*stride)
		scoresPortable(panel, half, group, want, stride)
		for _, kern := range supportedKernels() {
			got := make([]float32, groupRows*stride)
			kern.scores(panel, half, group, got, stride)
			for i := range got {
				if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%s d=%d: score %d is %v, portable gives %v", kern.name, d, i, got[i], want[i])
				}
			}
		}
	}
}

func TestNearestIndependentOfBatchAndWorkers(t *testing.T) {
	p := hardProblems()[5]
	codes, err := NewCodes(p.rows, p.k, p.d)
	if err != nil {
		t.Fatal(err)
	}
	want, wantDist := make([]uint32, p.n), make([]float32, p.n)
	codes.Nearest(p.x, p.n, want, wantDist, 1)
	for _, split := range []int{1, 3, 8, 20, p.n} {
		for _, workers := range []int{0, 1, 2, 5, 100} {
			index, dist := make([]uint32, p.n), make([]float32, p.n)
			for from := 0; from < p.n; from += split {
				n := min(split, p.n-from)
				codes.Nearest(p.x[from*p.d:], n, index[from:], dist[from:], workers)
			}
			for i := range index {
				if index[i] != want[i] || dist[i] != wantDist[i] {
					t.Fatalf("split %d, %d workers: row %d gets %d, want %d", split, workers, i, index[i], want[i])
				}
			}
		}
	}
}

func TestNearestNonFiniteRow(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	codes, err := NewCodes([]float32{5, 5, 0, 0, 1, 1}, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	index, dist := make([]uint32, 4), make([]float32, 4)
	codes.Nearest([]float32{nan, 0, 1, 1, 0, -inf, 0.1, 0}, 4, index, dist, 1)
	if fmt.Sprint(index, dist) != "[0 2 0 1] [NaN 0 NaN 0.010000001]" {
		t.Errorf("got %v %v", index, dist)
	}
}

func TestNearestPanicsOnShortSlices(t *testing.T) {
	codes, _ := NewCodes([]float32{1, 2}, 1, 2)
	defer func() {
		if recover() == nil {
			t.Error("a short index slice was accepted")
		}
	}()
	codes.Nearest(make([]float32, 4), 2, make([]uint32, 1), nil, 1)
}

func TestNewCodesErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		rows []float32
		k, d int
		want string
	}{
		{nil, 0, 4, "both sizes must be positive"},
		{nil, 4, 0, "both sizes must be positive"},
		{make([]float32, 7), 2, 4, "7 numbers"},
		{make([]float32, 12), 2, 4, "12 numbers"},
		{[]float32{0, 1, 2, nan}, 2, 2, "row 1, column 1 is NaN"},
		{[]float32{0, inf, 2, 3}, 2, 2, "row 0, column 1 is -Inf"},
	} {
		if _, err := NewCodes(c.rows, c.k, c.d); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewCodes(%v, %d, %d) error %v, want one about %q", c.rows, c.k, c.d, err, c.want)
		}
	}
}

func TestCodesKeepTheirRows(t *testing.T) {
	rows := []float32{1, 2, 1, 2, 3, 4}
	codes, err := NewCodes(rows, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	rows[0] = 9
	if got := fmt.Sprint(codes.k, codes.d, codes.Row(0), codes.Row(1), codes.Row(2)); got != "3 2 [1 2] [1 2] [3 4]" {
		t.Error(got)
	}
}

func TestLevelIsFastestSupported(t *testing.T) {
	kernels := supportedKernels()
	if Level() != kernels[0].name {
		t.Errorf("Level is %q, fastest supported kernel is %q", Level(), kernels[0].name)
	}
	if last := kernels[len(kernels)-1].name; last != "portable" {
		t.Errorf("the kernel of last resort is %q", last)
	}
}
