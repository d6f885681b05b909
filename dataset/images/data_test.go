package images

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// realPictures is a file of the directory that GRITVQ_DATA names.
func realPictures(t testing.TB, name string) string {
	t.Helper()
	root := os.Getenv("GRITVQ_DATA")
	if root == "" {
		t.Skip("set GRITVQ_DATA to a directory with images/" + name)
	}
	path := filepath.Join(root, "images", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("GRITVQ_DATA has no images/%s", name)
	}
	return path
}

func TestRealPicturesAreAllSound(t *testing.T) {
	for name, want := range map[string]int{"celeba-128-val.tar": 500, "kodak": 24} {
		set := mustOpen(t, realPictures(t, name), Options{Size: 112})
		if set.Len() != want {
			t.Errorf("%s: %d pictures, want %d", name, set.Len(), want)
		}
		rows := make([]int, set.Len())
		for i := range rows {
			rows[i] = i
		}
		if damaged, err := set.Centre(rows, make([]uint8, len(rows)*112*112*3)); err != nil || damaged != nil {
			t.Errorf("%s: damaged %v, %v", name, damaged, err)
		}
	}
}

// benchmarkCrops reports pictures per second over a real set.
func benchmarkCrops(b *testing.B, name string, options Options) {
	set := mustOpen(b, realPictures(b, name), options)
	const batch = 64
	rows, dst := make([]int, batch), make([]uint8, batch*options.Size*options.Size*3)
	step := 0
	next := func() {
		for i := range rows {
			rows[i] = (step*batch + i) % min(set.Len(), 1024)
		}
		if _, err := set.Crops(rows, 1, int64(step), dst); err != nil {
			b.Fatal(err)
		}
		step++
	}
	for range 1024 / batch { // fills the cache, where there is one
		next()
	}
	for b.Loop() {
		next()
	}
	b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "pictures/s")
}

func BenchmarkCropsDecoding(b *testing.B) {
	benchmarkCrops(b, "celeba-128-train.tar", Options{Size: 128, Cache: -1})
}

func BenchmarkCropsDecodingAndReducing(b *testing.B) {
	benchmarkCrops(b, "celeba-128-train.tar", Options{Size: 64, Cache: -1})
}

func BenchmarkCropsDecoding256(b *testing.B) {
	benchmarkCrops(b, "imagenet-256-train.tar", Options{Size: 256, Cache: -1})
}

func BenchmarkCropsCached(b *testing.B) {
	benchmarkCrops(b, "celeba-128-train.tar", Options{Size: 128})
}

func BenchmarkOpenTar(b *testing.B) {
	path := realPictures(b, "celeba-128-train.tar")
	for b.Loop() {
		mustOpen(b, path, Options{Size: 128}).Close()
	}
}

// damagedSoFar returns the damaged pictures met so far, in the order of the set.
func (s *Set) damagedSoFar() []Damage {
	s.damageLock.Lock()
	defer s.damageLock.Unlock()
	var list []Damage
	for _, damage := range s.damage {
		list = append(list, *damage)
	}
	slices.SortFunc(list, func(a, b Damage) int { return cmp.Compare(a.row, b.row) })
	return list
}
