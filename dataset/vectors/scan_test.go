package vectors

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gritvq/gritvq/dataset"
)

// Far from zero, with little spread: naive sums of squares lose every digit.
func offsetValues(rows, dim int) []float32 {
	values := make([]float32, rows*dim)
	stream := rowStream(5, 0)
	for i := range values {
		values[i] = float32(10_000*(i%dim+1)) + float32(stream.normal())
	}
	return values
}

func TestScanAgainstExactArithmetic(t *testing.T) {
	const rows, dim = 30_000, 24 // about three blocks
	values := offsetValues(rows, dim)
	v := mustOpen(t, writeVectors(t, "x.npy", dim, values), Options{})
	last := 0
	stats, err := v.Scan(context.Background(), func(done, total int) {
		if done <= last || total != rows {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	if last != rows {
		t.Errorf("progress ended at %d", last)
	}
	for j := range dim {
		sum, squares := new(big.Rat), new(big.Rat)
		for i := range rows {
			x := new(big.Rat).SetFloat64(float64(values[i*dim+j]))
			sum.Add(sum, x)
			squares.Add(squares, x.Mul(x, x))
		}
		n := big.NewRat(rows, 1)
		mean := sum.Quo(sum, n)
		variance := squares.Sub(squares.Quo(squares, n), new(big.Rat).Mul(mean, mean))
		wantMean, _ := mean.Float64()
		wantVariance, _ := variance.Float64()
		if math.Abs(stats.Mean[j]/wantMean-1) > 1e-14 || math.Abs(stats.Variance[j]/wantVariance-1) > 1e-10 {
			t.Fatalf("dimension %d: mean %v variance %v, want %v %v", j, stats.Mean[j], stats.Variance[j], wantMean, wantVariance)
		}
		if j == 1 { // big rationals are slow; two dimensions do
			break
		}
	}
}

func TestScanDoesNotDependOnWorkers(t *testing.T) {
	v := mustOpen(t, writeVectors(t, "x.npy", 24, offsetValues(40_000, 24)), Options{})
	var results []Stats
	for _, workers := range []int{1, 2, 5} {
		before := runtime.GOMAXPROCS(workers)
		stats, err := v.Scan(context.Background(), nil)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, stats)
	}
	for _, other := range results[1:] {
		if diff := cmp.Diff(results[0], other); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNonFiniteRowsAreFoundAndDropped(t *testing.T) {
	const rows, dim = 30_000, 24
	values := offsetValues(rows, dim)
	clean := slices.Clone(values)
	bad := []int{0, 17, 18, 15_000, rows - 1}
	for i, row := range slices.Backward(bad) {
		values[row*dim+i] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[i%3]
		clean = slices.Delete(clean, row*dim, (row+1)*dim)
	}
	path := writeVectors(t, "x.npy", dim, values)
	v := mustOpen(t, path, Options{})
	stats, err := v.Scan(context.Background(), nil)
	var nonFinite *NonFiniteError
	if !errors.As(err, &nonFinite) || *nonFinite != (NonFiniteError{path, 0, 5}) {
		t.Fatalf("got %v", err)
	}
	wantError(t, err, "row 0 of "+path+" holds NaN or Inf (5 such rows)", "--drop-nonfinite")
	view, dropped, err := v.DropNonFinite(context.Background())
	if err != nil || dropped != len(bad) || view.Len() != rows-len(bad) {
		t.Fatal(dropped, err)
	}
	defer view.Close()
	if !slices.Equal(allRows(t, view), clean) {
		t.Error("the view's rows differ")
	}
	got := make([]float32, 3*dim)
	if err := view.Gather([]int{0, 15, 16}, got); err != nil || !slices.Equal(got, slices.Concat(clean[:dim], clean[15*dim:17*dim])) {
		t.Errorf("gathered rows differ, %v", err)
	}
	again, err := view.Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	twin := mustOpen(t, writeVectors(t, "y.npy", dim, clean), Options{})
	fingerprint, err := twin.Fingerprint()
	if err != nil || fingerprint != again.Fingerprint {
		t.Errorf("fingerprint %s of the view, %s of the same rows in a file, %v", again.Fingerprint, fingerprint, err)
	}
	for j, mean := range again.Mean { // bad rows do not count in the first scan either
		if math.Abs(mean/stats.Mean[j]-1) > 1e-12 {
			t.Errorf("mean %d: %v and %v", j, mean, stats.Mean[j])
		}
	}
}

func TestDroppingFromAViewKeepsEarlierDrops(t *testing.T) {
	v := mustOpen(t, writeVectors(t, "x.npy", 1, []float32{0, 1, 2, 3, 4, float32(math.NaN()), 6}), Options{})
	v.dropped, v.rows = []int{1, 2}, 5 // as if an earlier view
	view, dropped, err := v.DropNonFinite(context.Background())
	if err != nil || dropped != 1 {
		t.Fatal(dropped, err)
	}
	defer view.Close()
	if got := allRows(t, view); !slices.Equal(got, []float32{0, 3, 4, 6}) {
		t.Errorf("got %v", got)
	}
}

func TestAllRowsNonFinite(t *testing.T) {
	nan := float32(math.NaN())
	v := mustOpen(t, writeVectors(t, "x.npy", 2, []float32{nan, 0, 0, nan}), Options{})
	if _, err := v.Scan(context.Background(), nil); err == nil {
		t.Error("no error")
	}
	_, _, err := v.DropNonFinite(context.Background())
	wantError(t, err, "every row of", "x.npy")
}

func TestFingerprintIsOfContent(t *testing.T) {
	values := []float32{1, 2, 3, 4, 5, 6}
	identify := func(name string, dim int, values []float32) string {
		v := mustOpen(t, writeVectors(t, name, dim, values), Options{})
		text, err := v.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		stats, err := v.Scan(context.Background(), nil)
		if err != nil || stats.Fingerprint != text {
			t.Errorf("Scan says %s, Fingerprint %s, %v", stats.Fingerprint, text, err)
		}
		return text
	}
	base := identify("a.npy", 3, values)
	// Computed with Python's hashlib: sha256("gritvq vectors 1\n", rows, dim, sha256(block)).
	if want := "sha256:" + goldenFingerprint; base != want {
		t.Errorf("got %s, want %s", base, want)
	}
	for _, name := range []string{"a.fvecs", "a.parquet"} {
		if got := identify(name, 3, values); got != base {
			t.Errorf("%s has another fingerprint", name)
		}
	}
	if identify("a.npy", 2, values) == base || identify("a.npy", 3, []float32{1, 2, 3, 4, 5, 7}) == base {
		t.Error("another shape or content has the same fingerprint")
	}
}

const goldenFingerprint = "e70d51a32b78726982423226a8193544181fd8556c83d9493e69fb357b55e051"

// A sparse file stands for a large one: nothing may grow with its size.
func TestLargeFileIsScannedInLittleMemory(t *testing.T) {
	const rows, dim = 264_000, 256 // 258 MiB
	path := filepath.Join(t.TempDir(), "big.npy")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	head := npyBytes(npyDict("<f4", fmt.Sprintf("(%d, %d)", rows, dim), false), nil)
	file.Write(head)
	if err := file.Truncate(int64(len(head)) + rows*dim*4); err != nil {
		t.Skip("the file system has no sparse files")
	}
	file.Close()
	v := mustOpen(t, path, Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, err := v.Fingerprint()
	if err != nil || !strings.HasPrefix(text, "sha256-sampled:") {
		t.Fatalf("fingerprint %s, %v", text, err)
	}
	stats, err := v.Scan(context.Background(), nil)
	if err != nil || stats.Fingerprint != text {
		t.Fatalf("fingerprint %s by Scan, %s alone, %v", stats.Fingerprint, text, err)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc - before.TotalAlloc); grown > 32<<20 {
		t.Errorf("allocated %d MiB in all", grown>>20)
	}
}

func TestScanStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	v := mustOpen(t, "synthetic:mixture?rows=100000000&dim=16", Options{})
	_, err := v.Scan(ctx, func(done, total int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

// The moments of selected rows are those of a file of these rows alone.
func TestMomentsOfSelectedRows(t *testing.T) {
	const rows, dim = 30_000, 24
	values := offsetValues(rows, dim)
	v := mustOpen(t, writeVectors(t, "x.npy", dim, values), Options{})
	train, held := dataset.Split(rows, 0.2, 1)
	for i := range held.Len() { // far away
		values[held.At(i)*dim] += 1e6
	}
	shifted := mustOpen(t, writeVectors(t, "shifted.npy", dim, values), Options{})
	var own []float32
	for i := range train.Len() {
		own = append(own, values[train.At(i)*dim:(train.At(i)+1)*dim]...)
	}
	want, err := mustOpen(t, writeVectors(t, "own.npy", dim, own), Options{}).Scan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []*Vectors{v, shifted} {
		mean, variance, err := of.Moments(t.Context(), train)
		if err != nil {
			t.Fatal(err)
		}
		for j := range dim {
			if math.Abs(mean[j]/want.Mean[j]-1) > 1e-14 || math.Abs(variance[j]/want.Variance[j]-1) > 1e-10 {
				t.Fatalf("dimension %d: mean %v variance %v, want %v %v", j, mean[j], variance[j], want.Mean[j], want.Variance[j])
			}
		}
	}
}
