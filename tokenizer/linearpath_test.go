package tokenizer

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/mat"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// linearFixture is a fresh tokenizer of 12 px pictures in cells of side 3, and the pictures it was started from.
func linearFixture(t *testing.T, dim int) (*Tokenizer, weights.Set, dataset.Batch) {
	t.Helper()
	set, err := images.Open(t.Context(), "synthetic:scenes?images=40&size=12", images.Options{Size: 12})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	rows := make([]int, set.Len())
	for i := range rows {
		rows[i] = i
	}
	items, _, err := set.Read(rows)
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.Dim, c.Image = dim, Image{Size: 12, Widths: []int{4, 4}, Strides: []int{3}, Blocks: 1, Up: "nearest", Linear: true, Precision: "f32"}
	q, err := vq.Defaults("ste")
	if err != nil {
		t.Fatal(err)
	}
	q.Codes, q.Levels = 12, 1
	tok, err := New(Spec{c, q}, set.Input())
	if err != nil {
		t.Fatal(err)
	}
	return tok, tok.InitNetwork(3, Sample{Items: items}), items
}

// squares lists the values of every cell of side 3 of 12 px pictures, standardized.
func squares(items dataset.Batch) *mat.Dense {
	rows := mat.NewDense(items.N*16, 27, nil)
	for i := range items.N * 16 {
		for j := range 27 {
			y, x := i%16/4*3+j/9, i%4*3+j/3%3
			rows.Set(i, j, float64(items.Pixels[((i/16*12+y)*12+x)*3+j%3])/127.5-1)
		}
	}
	return rows
}

// A fresh tokenizer with a linear path is the principal components of its squares: latents of unit spread, and the
// reconstruction of a singular value decomposition.
func TestLinearPathIsPrincipalComponents(t *testing.T) {
	for _, dim := range []int{5, 27, 30} {
		tok, set, items := linearFixture(t, dim)
		rows := squares(items)
		n, values := rows.Dims()
		mean := make([]float64, values)
		for i := range n {
			for j := range values {
				mean[j] += rows.At(i, j) / float64(n)
			}
		}
		centred := mat.NewDense(n, values, nil)
		centred.Apply(func(_, j int, x float64) float64 { return x - mean[j] }, rows)
		var svd mat.SVD
		if !svd.Factorize(centred, mat.SVDThin) {
			t.Fatal("no decomposition")
		}
		var axes, low, want mat.Dense
		svd.VTo(&axes)
		leading := axes.Slice(0, values, 0, min(dim, values))
		low.Mul(centred, leading)
		want.Mul(&low, leading.T())
		store := model.NewStore()
		defer store.Finalize()
		if err := weights.Install(store, set); err != nil {
			t.Fatal(err)
		}
		out, err := model.CallOnceN(gradtest.Engine(t), store, func(_ *model.Scope, x *graph.Node) []*graph.Node {
			v := weights.FromStore(store, x.Graph())
			z := tok.Encode(v, x)
			return []*graph.Node{z, tok.reconstruct(v, z, nil)}
		}, tok.Tensor(items))
		if err != nil {
			t.Fatal(err)
		}
		z, y := tensors.MustCopyFlatData[float32](out[0]), tensors.MustCopyFlatData[float32](out[1])
		spread, worst := 0.0, 0.0
		for _, x := range z {
			spread += float64(x) * float64(x) / float64(n*min(dim, values))
		}
		for i := range n {
			for j := range values {
				py, px := i%16/4*3+j/9, i%4*3+j/3%3
				worst = max(worst, math.Abs(float64(y[((i/16*12+py)*12+px)*3+j%3])-want.At(i, j)-mean[j]))
			}
		}
		if math.Abs(spread-1) > 1e-4 || worst > 1e-5 {
			t.Errorf("%d dimensions: spread %g, off the decomposition's reconstruction by %g", dim, spread, worst)
		}
	}
}

// Codes placed before training are k-means of the squares' principal components.
func TestLinearPathStartsAsKMeans(t *testing.T) {
	tok, set, items := linearFixture(t, 6)
	r, err := NewRuntime(gradtest.Engine(t), tok, set, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	z, err := r.Latents(t.Context(), items)
	if err != nil {
		t.Fatal(err)
	}
	n := items.N * 16
	started, err := tok.Quantizer.Init(vq.Latents{Rows: z, N: n, Dim: 6}, weights.Rand(5, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	all := runtime(t, tok, set.Merge("quantizer", started))
	got, err := all.Encode(t.Context(), items, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := fitPatchMap(squares(items), 6, nil)
	var low mat.Dense
	low.Mul(squares(items), m.components)
	components := make([]float32, n*6)
	for i := range components {
		components[i] = float32((low.At(i/6, i%6) - mat.Dot(m.components.ColView(i%6), mat.NewVecDense(27, m.mean))) / m.scale)
	}
	centres, err := index.NewCodes(all.Codebooks()[0].Data, 12, 6)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]uint32, n)
	centres.Nearest(components, n, want, nil, 1)
	if !slices.Equal(got, want) {
		t.Error("the codes are not those of k-means on principal components")
	}
	// Every code is the centroid of its squares, as k-means leaves it.
	again, _, err := index.KMeans(t.Context(), components, n, 6, 12, index.KMeansOptions{Start: all.Codebooks()[0].Data})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range all.Codebooks()[0].Data {
		if math.Abs(float64(x-again[i])) > 0.05 {
			t.Fatalf("codes move by %g under further iterations", x-again[i])
		}
	}
}

// The leading components of large squares are iterated and agree with the exact ones.
func TestLeadingAxes(t *testing.T) {
	rng := weights.Rand(1, "axes")
	const n = exactSide + 40
	covariance := mat.NewSymDense(n, nil)
	for i := range n { // variances fall as those of pictures do; the first axes are the unit vectors
		covariance.SetSym(i, i, 1/float64((i+1)*(i+1)))
	}
	axes, variances := leadingAxes(covariance, 5, rng)
	for j := range 5 {
		if math.Abs(variances[j]-1/float64((j+1)*(j+1))) > 1e-9 || math.Abs(axes[j][j]-1) > 1e-6 {
			t.Errorf("axis %d: variance %g, own component %g", j, variances[j], axes[j][j])
		}
	}
}

func TestSetDown(t *testing.T) {
	for down, want := range map[int]struct{ widths, strides []int }{
		1: {[]int{8}, nil}, 2: {[]int{8, 16}, nil}, 8: {[]int{8, 16, 32, 32}, nil},
		3: {[]int{8, 16}, []int{3}}, 12: {[]int{8, 16, 32, 32}, []int{3, 2, 2}}, 14: {[]int{8, 16, 32}, []int{7, 2}},
	} {
		c := Image{Size: 12 * 14, Widths: []int{8, 16, 32}}
		c.SetDown(down)
		if !slices.Equal(c.Widths, want.widths) || !slices.Equal(c.Strides, want.strides) || c.Down() != down || c.Grid() != 168/down {
			t.Errorf("down %d: %+v", down, c)
		}
	}
}

// Settings stored before there was a linear path mean a network without one.
func TestStoredPicturesHaveNoLinearPath(t *testing.T) {
	s, err := ReadSpec([]byte("quantizer: {method: ema}\nmodel: {dim: 4, image: {size: 16, widths: [4, 8]}}\n"))
	if image := s.Model.Image; err != nil || image.Linear || image.Up != "transposed" || image.Down() != 2 {
		t.Errorf("%+v, %v", image, err)
	}
}
