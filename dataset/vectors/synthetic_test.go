package vectors

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/dataset"
)

func TestSyntheticIsTheSameEverywhere(t *testing.T) {
	// Fingerprints of these sets on amd64; other platforms must agree.
	for path, want := range map[string]string{
		"synthetic:manifold?rows=2000":               "sha256:2507fec81399482449003572cbc818405bced9688da10587d4093f24cb9a9acb",
		"synthetic:manifold?rows=500&dim=100&seed=9": "sha256:b9287d7e99e1fc68b960913d05051925d38788912240dddb2eb52869f5d0f8b5",
		"synthetic:mixture?rows=2000":                "sha256:ffd03084207d773d29dd5c5f31b531d0cb2ce1e7555acdec9200f9330b739617",
	} {
		got, err := mustOpen(t, path, Options{}).Fingerprint()
		if err != nil || got != want {
			t.Errorf("%s: %s, want %s, %v", path, got, want, err)
		}
	}
}

func TestSyntheticRowsAreIndependent(t *testing.T) {
	for _, name := range dataset.SyntheticNames(dataset.Vectors) {
		long := mustOpen(t, "synthetic:"+name+"?rows=3000&dim=20&seed=4", Options{})
		short := mustOpen(t, "synthetic:"+name+"?rows=50&dim=20&seed=4", Options{})
		huge := mustOpen(t, "synthetic:"+name+"?rows=1000000000&dim=20&seed=4", Options{}) // made as it is read
		other := mustOpen(t, "synthetic:"+name+"?rows=50&dim=20&seed=5", Options{})
		want := allRows(t, short)
		for _, v := range []*Vectors{long, huge} {
			got := make([]float32, 50*20)
			if err := v.Rows(0, 50, got); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: rows of a longer set differ, %v", v.Path(), err)
			}
			if err := v.Gather([]int{49, 3}, got[:40]); err != nil || !slices.Equal(got[:40], slices.Concat(want[49*20:], want[3*20:4*20])) {
				t.Errorf("%s: gathered rows differ, %v", v.Path(), err)
			}
		}
		if slices.Equal(allRows(t, other), want) {
			t.Errorf("%s: another seed gives the same rows", name)
		}
	}
}

func TestSyntheticDefaults(t *testing.T) {
	if v := mustOpen(t, "synthetic:manifold", Options{}); v.Len() != 60_000 || v.Dim() != 64 {
		t.Errorf("manifold [%d, %d]", v.Len(), v.Dim())
	}
	if v := mustOpen(t, "synthetic:mixture", Options{}); v.Len() != 20_000 || v.Dim() != 16 {
		t.Errorf("mixture [%d, %d]", v.Len(), v.Dim())
	}
}

func TestSyntheticBadNames(t *testing.T) {
	for path, want := range map[string]string{
		"synthetic:mnist":                               `no built-in set of vectors "mnist"; known: manifold, mixture`,
		"synthetic:mixture?rows=0":                      "rows=0",
		"synthetic:mixture?dim=-3":                      "dim=-3",
		"synthetic:mixture?dim=100000":                  "from 1 to 4096",
		"synthetic:mixture?seed=x":                      "seed=x",
		"synthetic:mixture?colour=red":                  "known: rows, dim, seed",
		"synthetic:mixture?rows=%zz":                    "cannot understand",
		"synthetic:mixture?rows=1e3":                    "rows=1e3",
		"synthetic:manifold?rows=999999999999999999999": "rows=9",
	} {
		_, err := Open(context.Background(), path, Options{})
		wantError(t, err, want)
	}
}

func TestMixtureOptimumIsKnown(t *testing.T) {
	const rows, dim = 20_000, 16
	v := mustOpen(t, "synthetic:mixture?rows=20000&dim=16&seed=3", Options{})
	values := allRows(t, v)
	truth := NewMixture(dim, 3)
	sum, fourth := 0.0, 0.0
	counts := make([]int, MixtureComponents)
	for i := range rows {
		k := truth.Component(i)
		counts[k]++
		for j := range dim {
			d := float64(values[i*dim+j] - truth.Centres[k*dim+j])
			sum += d * d
			fourth += d * d * d * d
		}
	}
	n := float64(rows * dim)
	variance := sum / n
	// The relative error of a variance of n normals is sqrt(2/n), of the
	// kurtosis sqrt(24/n)/3.
	if want := truth.Noise * truth.Noise; math.Abs(variance/want-1) > 5*math.Sqrt(2/n) {
		t.Errorf("error of the centres %v, want %v", variance, want)
	}
	if kurtosis := fourth / n / variance / variance; math.Abs(kurtosis-3) > 5*math.Sqrt(24/n) {
		t.Errorf("kurtosis %v, a Gaussian has 3", kurtosis)
	}
	if score := math.Abs(chiSquare(counts)); score > 5 {
		t.Errorf("components are %.1f standard deviations from equally likely", score)
	}
}

func TestManifoldHasTheStructureItClaims(t *testing.T) {
	const rows, dim = 20_000, 64
	set := newManifold(dim, 1)
	counts := make([]int, manifoldPatches)
	for i := range rows {
		u := rowStream(1, i).uniform()
		k := 0
		for set.cumulative[k] < u {
			k++
		}
		counts[k]++
	}
	if head, tail := counts[0], counts[manifoldPatches-1]; head < 20*max(tail, 1) || tail == 0 {
		t.Errorf("the most frequent patch has %d rows, the rarest %d", head, tail)
	}
	v := mustOpen(t, "synthetic:manifold?rows=20000", Options{})
	stats, err := v.Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	values := allRows(t, v)
	total, strongest := 0.0, 0.0
	for _, variance := range stats.Variance {
		if variance < 0.05 || variance > 20 {
			t.Errorf("a dimension has variance %v", variance)
		}
		total += variance
	}
	for j := range dim {
		for l := range j {
			covariance := 0.0
			for i := range 4000 {
				covariance += (float64(values[i*dim+j]) - stats.Mean[j]) * (float64(values[i*dim+l]) - stats.Mean[l]) / 4000
			}
			strongest = max(strongest, math.Abs(covariance)/math.Sqrt(stats.Variance[j]*stats.Variance[l]))
		}
	}
	if strongest < 0.5 || strongest > 0.99 {
		t.Errorf("strongest correlation of two dimensions %v", strongest)
	}
	// Within a patch the spread is far above the noise but well below the whole.
	spread, noise := 0.0, manifoldNoise*manifoldNoise*dim
	members := 0
	mean := make([]float64, dim)
	for pass := range 2 {
		for i := range rows {
			if rowStream(1, i).uniform() > set.cumulative[0] {
				continue
			}
			for j := range dim {
				x := float64(values[i*dim+j])
				if pass == 0 {
					mean[j] += x
				} else {
					spread += (x - mean[j]) * (x - mean[j])
				}
			}
			members += 1 - pass
		}
		for j := range mean {
			if pass == 0 {
				mean[j] /= float64(members)
			}
		}
	}
	spread /= float64(members)
	t.Logf("variance %.2f in all, %.2f within the first patch, %.4f noise; strongest correlation %.2f", total, spread, noise, strongest)
	if spread < 20*noise || spread > total/2 {
		t.Errorf("variance %v in all, %v within a patch, %v noise", total, spread, noise)
	}
}

func TestPortableLog(t *testing.T) {
	for _, x := range []float64{1e-300, 1e-9, 0.1, 0.5, 0.7071, 0.70711, 0.999999, 1, 1.0000001, 1.4142, 1.5, 2, 10, 1e300} {
		got, want := portableLog(x), math.Log(x)
		if math.Abs(got-want) > 4e-16*max(1, math.Abs(want)) {
			t.Errorf("log %v = %v, want %v", x, got, want)
		}
	}
}

func BenchmarkManifoldRow(b *testing.B) {
	set := newManifold(64, 1)
	row := make([]float32, 64)
	for i := range b.N {
		set.row(i, row)
	}
}

// chiSquare compares counts with equal frequencies; its expectation is
// len(counts)-1, its variance twice that.
func chiSquare(counts []int) (standardScore float64) {
	total := 0
	for _, c := range counts {
		total += c
	}
	expected := float64(total) / float64(len(counts))
	sum := 0.0
	for _, c := range counts {
		sum += (float64(c) - expected) * (float64(c) - expected) / expected
	}
	freedom := float64(len(counts) - 1)
	return (sum - freedom) / math.Sqrt(2*freedom)
}
