package feature

import (
	"context"
	"encoding/json"
	"image"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
)

// published returns a path below the metrics directory of $GRITVQ_DATA, which
// holds the published networks and their results for three pictures.
func published(tb testing.TB, name string) string {
	tb.Helper()
	dir := os.Getenv("GRITVQ_DATA")
	if dir == "" {
		tb.Skip("GRITVQ_DATA does not name a directory with metrics/, the published networks")
	}
	path := filepath.Join(dir, "metrics", name)
	if _, err := os.Stat(path); err != nil {
		tb.Skipf("GRITVQ_DATA has no metrics/%s", name)
	}
	return path
}

// readPicture returns a square picture's pixels [size, size, 3].
func readPicture(t *testing.T, path string) (pixels []uint8, size int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, _, err := image.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	size = picture.Bounds().Dx()
	for y := range size {
		for x := range size {
			r, g, b, _ := picture.At(x, y).RGBA()
			pixels = append(pixels, uint8(r>>8), uint8(g>>8), uint8(b>>8))
		}
	}
	return pixels, size
}

type goldenFeatures struct {
	Mean   float64
	L2     float64
	First8 []float64
}

// golden returns the LPIPS distances to ex_ref, and the features by picture.
func golden(t *testing.T) (map[string]float64, map[string]goldenFeatures) {
	t.Helper()
	content, err := os.ReadFile(published(t, "golden/expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		LPIPS    string                    `json:"lpips_squeeze_v0.1"`
		Features map[string]goldenFeatures `json:"mobilenetv2_features_nearest_upsampled_to_224"`
	}
	if err := json.Unmarshal(content, &all); err != nil {
		t.Fatal(err)
	}
	distances := map[string]float64{}
	for _, m := range regexp.MustCompile(`lpips\(ex_ref,(\w+)\)=([\d.]+)`).FindAllStringSubmatch(all.LPIPS, -1) {
		if distances[m[1]], err = strconv.ParseFloat(m[2], 64); err != nil {
			t.Fatal(err)
		}
	}
	if len(distances) != 2 || len(all.Features) != 3 {
		t.Fatalf("%d distances and %d features are recorded", len(distances), len(all.Features))
	}
	return distances, all.Features
}

func TestPublishedLPIPS(t *testing.T) {
	want, _ := golden(t)
	network, err := LoadLPIPS(published(t, "lpips_squeeze_v0.1.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	runner, err := NewLPIPSRunner(gradtest.Engine(t), network)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	reference, size := readPicture(t, published(t, "golden/ex_ref.png"))
	for name, distance := range want {
		other, _ := readPicture(t, published(t, "golden/"+name+".png"))
		// Ten pairs: one block and a padded one.
		var a, b []uint8
		for range 10 {
			a, b = append(a, reference...), append(b, other...)
		}
		got, err := runner.Distances(context.Background(), a, b, 10, size)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 10 || got[9] != got[0] {
			t.Errorf("ten equal pairs have distances %v", got)
		}
		if math.Abs(got[0]-distance) > 1e-4 {
			t.Errorf("distance of %s is %.6f, want %.4f", name, got[0], distance)
		}
	}
}

func TestPublishedMobileNet(t *testing.T) {
	_, want := golden(t)
	network, err := Load(published(t, "mobilenetv2.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	extractor, err := NewExtractor(gradtest.Engine(t), network)
	if err != nil {
		t.Fatal(err)
	}
	defer extractor.Close()
	var pixels []uint8
	names := []string{"ex_ref", "ex_p0", "ex_p1"}
	for _, name := range names {
		picture, size := readPicture(t, published(t, "golden/"+name+".png"))
		for y := range mobileSize { // nearest neighbours, as recorded
			for x := range mobileSize {
				at := (y*size/mobileSize*size + x*size/mobileSize) * 3
				pixels = append(pixels, picture[at:at+3]...)
			}
		}
	}
	features, err := extractor.Features(context.Background(), pixels, len(names), mobileSize)
	if err != nil {
		t.Fatal(err)
	}
	const width = 1280
	if len(features) != len(names)*width {
		t.Fatalf("%d features for %d pictures", len(features), len(names))
	}
	for i, name := range names {
		var mean, square float64
		row := features[i*width : (i+1)*width]
		for _, value := range row {
			mean += float64(value) / width
			square += float64(value) * float64(value)
		}
		if math.Abs(mean-want[name].Mean) > 1e-4 || math.Abs(math.Sqrt(square)-want[name].L2) > 1e-3 {
			t.Errorf("%s has mean %.6f and length %.5f, want %.6f and %.5f", name, mean, math.Sqrt(square), want[name].Mean, want[name].L2)
		}
		for k, value := range want[name].First8 {
			if math.Abs(float64(row[k])-value) > 1e-3 {
				t.Errorf("%s: feature %d is %.5f, want %.5f", name, k, row[k], value)
			}
		}
	}
}
