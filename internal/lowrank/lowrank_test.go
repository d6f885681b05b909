package lowrank

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestSingularVectorsAgainstDenseSVD(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rows, columns, dim = 60, 40, 6
	entries := make([][]Entry, rows)
	dense := mat.NewDense(rows, columns, nil)
	for row := range rows {
		for column := range columns {
			if random.IntN(3) == 0 {
				w := random.NormFloat64() / float64(1+column%7*column%7) // a spectrum that falls
				entries[row] = append(entries[row], Entry{int32(column), float32(w)})
				dense.Set(row, column, float64(float32(w)))
			}
		}
	}
	m := NewSparse(columns, entries)
	axes, found, err := RightVectors(m, dim)
	if err != nil {
		t.Fatal(err)
	}
	var svd mat.SVD
	if !svd.Factorize(dense, mat.SVDThin) {
		t.Fatal("no reference")
	}
	values := svd.Values(nil)
	var v mat.Dense
	svd.VTo(&v)
	// The share of each exact vector, times its value, that the span holds; and
	// the strength of the data along each axis.
	got := mat.NewDense(columns, dim, axes)
	var strength mat.Dense
	strength.Mul(dense, got)
	for j := range dim {
		if s := mat.Norm(strength.ColView(j), 2); math.Abs(s-values[j]) > 0.01*values[j] {
			t.Errorf("axis %d has strength %g, the singular value is %g", j, s, values[j])
		}
		if math.Abs(found[j]-values[j]) > 0.01*values[j] {
			t.Errorf("singular value %d is %g, expected %g", j, found[j], values[j])
		}
		for k := range dim {
			want := 0.0
			if j == k {
				want = 1
			}
			if dot := mat.Dot(got.ColView(j), got.ColView(k)); math.Abs(dot-want) > 1e-8 {
				t.Errorf("axes %d and %d have product %g", j, k, dot)
			}
		}
	}
	if c := math.Abs(mat.Dot(got.ColView(0), v.ColView(0))); c < 1-1e-4 {
		t.Errorf("the first axis has cosine %g with the exact one", c)
	}
}

func TestVectorsOfLittle(t *testing.T) {
	one := NewSparse(3, [][]Entry{{{1, 2}}, {}, {{1, 2}}})
	vectors, values, err := RightVectors(one, 2)
	if err != nil || !slices.Equal(vectors, []float64{0, 0, 1, 0, 0, 0}) || math.Abs(values[0]-math.Sqrt(8)) > 1e-12 || values[1] != 0 {
		t.Errorf("a matrix of rank one has the vectors %v and the values %v (%v)", vectors, values, err)
	}
	vectors, values, err = RightVectors(NewSparse(2, nil), 1)
	if err != nil || !slices.Equal(vectors, []float64{0, 0}) || values[0] != 0 {
		t.Errorf("a matrix without rows has the vectors %v and the values %v (%v)", vectors, values, err)
	}
}
