package picture

import (
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/tokenizer"
)

// keys are those that the scores of a picture tokenizer always have.
var keys = []string{
	"bits_per_pixel", "coded_bits_per_pixel", "damaged", "dead_rate", "frechet", "frechet_network", "images", "kid", "kid_std",
	"lpips", "lpips_network", "mse", "perplexity", "psnr", "ssim", "tokens_per_code", "utilization",
}

// Without networks the scores are the tokenizer's own, and null for the rest.
func TestEvaluateWithoutNetworks(t *testing.T) {
	r, set := untrained(t, 16, []int{8, 8}, 2, 1), scenes(t, 70, 16)
	_, held := dataset.Split(set.Len(), 0.9, 1)
	var told []int
	s, usage, err := Evaluate(t.Context(), r, set, held, Networks{}, Options{Progress: func(done, total int) {
		if total != held.Len() {
			t.Errorf("a total of %d", total)
		}
		told = append(told, done)
	}})
	if err != nil {
		t.Fatal(err)
	}
	result, counts, err := r.Evaluate(t.Context(), set, held, tokenizer.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := result.(*tokenizer.PictureScores)
	if s.PSNR != want.PSNR || s.SSIM != want.SSIM || s.MSE != want.MSE || s.Images != 63 || s.BitsPerPixel != want.BitsPerPixel ||
		!slices.Equal(usage.Histogram(1), counts.Histogram(1)) {
		t.Errorf("scores %+v, want %+v", s, want)
	}
	if bits := 2 * math.Log2(24) / 4; math.Abs(s.BitsPerPixel-bits) > 1e-12 {
		t.Errorf("%g bits a pixel, want %g", s.BitsPerPixel, bits)
	}
	if !slices.IsSorted(told) || told[len(told)-1] != held.Len() {
		t.Errorf("progress %v", told)
	}
	content, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, keys) {
		t.Errorf("keys %v", got)
	}
	for _, key := range []string{"lpips", "lpips_network", "frechet", "frechet_network", "kid", "kid_std", "coded_bits_per_pixel"} {
		if object[key] != nil {
			t.Errorf("%s is %v", key, object[key])
		}
	}
	var back Scores
	if err := json.Unmarshal(content, &back); err != nil || back.PSNR != s.PSNR || back.Utilization.Mean != s.Utilization.Mean ||
		!math.IsNaN(back.LPIPS) || back.Images != s.Images {
		t.Errorf("read back %+v (%v)", back, err)
	}
}

// Scores that are not numbers, and those that are, survive JSON.
func TestScoresJSON(t *testing.T) {
	s := Scores{LPIPS: 0.25, LPIPSNetwork: "SqueezeNet", Frechet: 3, KID: -0.5, KIDStd: 0.125, FrechetNetwork: "MobileNetV2",
		CodedBitsPerPixel: math.NaN(), Notes: []string{"n"}}
	s.PSNR, s.SSIM, s.DeadRate = math.Inf(1), 0.5, 0.75
	content, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Scores
	if err := json.Unmarshal(content, &back); err != nil {
		t.Fatal(err)
	}
	if back.LPIPS != 0.25 || back.LPIPSNetwork != "SqueezeNet" || back.Frechet != 3 || back.KID != -0.5 || back.KIDStd != 0.125 ||
		back.FrechetNetwork != "MobileNetV2" ||
		!math.IsNaN(back.CodedBitsPerPixel) || back.Notes[0] != "n" || !math.IsNaN(back.PSNR) || back.SSIM != 0.5 || back.DeadRate != 0.75 {
		t.Errorf("%s became %+v", content, back)
	}
}

// Damaged pictures are counted, and an error where nothing else is left.
func TestEvaluateDamagedPictures(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		m := image.NewGray(image.Rect(0, 0, 16, 16))
		m.SetGray(i, 3, color.Gray{200})
		file, err := os.Create(filepath.Join(dir, string(rune('a'+i))+".png"))
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(file, m); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 { // the header is whole, the pixels are not
			if err := file.Truncate(40); err != nil {
				t.Fatal(err)
			}
		}
		file.Close()
	}
	open := func(path string) *images.Set {
		set, err := images.Open(t.Context(), path, images.Options{Size: 16})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { set.Close() })
		return set
	}
	r := untrained(t, 16, []int{8, 8}, 1, 1)
	last := 0
	s, _, err := Evaluate(t.Context(), r, open(dir), dataset.All(6), Networks{}, Options{Progress: func(done, _ int) { last = done }})
	if err != nil || s.Images != 3 || s.Damaged != 3 || last != 6 {
		t.Errorf("%d scored, %d damaged, %d done (%v)", s.Images, s.Damaged, last, err)
	}
	_, _, err = Evaluate(t.Context(), r, open(filepath.Join(dir, "b.png")), dataset.All(1), Networks{}, Options{})
	if err == nil || !strings.Contains(err.Error(), "none of the 1 pictures") {
		t.Errorf("only damaged pictures: %v", err)
	}
	_, _, err = Evaluate(t.Context(), r, open(dir), dataset.All(0), Networks{}, Options{})
	if err == nil || !strings.Contains(err.Error(), "no pictures to score") {
		t.Errorf("no pictures: %v", err)
	}
}

// With the published networks, batches give the same scores as all pictures at once.
func TestEvaluateWithNetworks(t *testing.T) {
	networks := metrics(t)
	r, set := untrained(t, 32, []int{8, 8, 8}, 1, 1), scenes(t, 6, 32)
	if _, _, err := Evaluate(t.Context(), r, set, dataset.All(6), networks, Options{}); err == nil ||
		!strings.Contains(err.Error(), "engine") {
		t.Errorf("without an engine: %v", err)
	}
	engine := gradtest.Engine(t)
	s, _, err := Evaluate(t.Context(), r, set, dataset.All(6), networks, Options{Backend: engine})
	if err != nil {
		t.Fatal(err)
	}
	pixels := make([]uint8, 6*32*32*3)
	if _, err := set.Centre([]int{0, 1, 2, 3, 4, 5}, pixels); err != nil {
		t.Fatal(err)
	}
	codes, err := r.Encode(t.Context(), dataset.PictureBatch(pixels, 6), tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := r.Decode(t.Context(), codes, 6, 1)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := feature.NewLPIPSRunner(engine, networks.LPIPS)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	distances, err := runner.Distances(t.Context(), pixels, decoded.Pixels, 6, 32)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, d := range distances {
		sum += d / 6
	}
	if math.Abs(s.LPIPS-sum) > 1e-6 || s.LPIPSNetwork != networks.LPIPS.Name() || !(s.LPIPS > 0.1) {
		t.Errorf("LPIPS %g (%s), want %g", s.LPIPS, s.LPIPSNetwork, sum)
	}
	// Two batches of 2 and 4 count as one of 6.
	seen, err := newPerception(engine, networks, 32, 6)
	if err != nil {
		t.Fatal(err)
	}
	defer seen.close()
	const picture = 32 * 32 * 3
	for _, part := range [][2]int{{0, 2}, {2, 6}} {
		pair := tokenizer.Coded{
			Items:   dataset.PictureBatch(pixels[part[0]*picture:part[1]*picture], part[1]-part[0]),
			Decoded: dataset.PictureBatch(decoded.Pixels[part[0]*picture:part[1]*picture], part[1]-part[0]),
		}
		if err := seen.add(t.Context(), pair); err != nil {
			t.Fatal(err)
		}
	}
	var parts Scores
	if err := seen.score(t.Context(), &parts); err != nil || math.Abs(parts.LPIPS-s.LPIPS) > 1e-6 ||
		math.Abs(parts.Frechet/s.Frechet-1) > 1e-6 || math.Abs(parts.KID-s.KID) > 1e-9 {
		t.Errorf("in two batches %+v (%v), in one %+v", parts, err, s)
	}
	extractor, err := feature.NewExtractor(engine, networks.Features)
	if err != nil {
		t.Fatal(err)
	}
	defer extractor.Close()
	var gaussians [2]eval.Gaussian
	var vectors [2][]float32
	for i, p := range [][]uint8{pixels, decoded.Pixels} {
		if vectors[i], err = extractor.Features(t.Context(), p, 6, 32); err != nil {
			t.Fatal(err)
		}
		var all eval.Features
		if err := all.Add(vectors[i], len(vectors[i])/6); err != nil {
			t.Fatal(err)
		}
		if gaussians[i], err = all.Gaussian(); err != nil {
			t.Fatal(err)
		}
	}
	frechet, err := eval.FrechetDistance(gaussians[0], gaussians[1])
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := eval.KernelDistance(t.Context(), vectors[0], vectors[1], len(vectors[0])/6, eval.KernelOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(s.Frechet/frechet-1) > 1e-6 || math.Abs(s.KID-kernel.Mean) > 1e-9 ||
		s.KIDStd != kernel.Std || s.FrechetNetwork != networks.Features.Name() {
		t.Errorf("Frechet distance %g, KID %g ± %g, want %g, %+v", s.Frechet, s.KID, s.KIDStd, frechet, kernel)
	}
	if len(s.Notes) != 1 || !strings.HasPrefix(s.Notes[0], "Read KID, not the Frechet distance: 6 pictures") {
		t.Errorf("notes %q", s.Notes)
	}
}

// Pictures too small for LPIPS, and a single one, cost a note and no score.
func TestEvaluateWhatCannotBeCompared(t *testing.T) {
	networks := metrics(t)
	s, _, err := Evaluate(t.Context(), untrained(t, 16, []int{8, 8}, 1, 1), scenes(t, 1, 16), dataset.All(1), networks,
		Options{Backend: gradtest.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(s.LPIPS) || !math.IsNaN(s.Frechet) || !math.IsNaN(s.KID) || s.LPIPSNetwork != "" || len(s.Notes) != 2 ||
		!strings.Contains(s.Notes[0], "at least 32 x 32") || !strings.Contains(s.Notes[1], "at least 2 pictures") {
		t.Errorf("%+v", s)
	}
}

// Of very many pictures an even part is kept for the kernel distance.
func TestKeptFeatures(t *testing.T) {
	for total, every := range map[int]int{1: 1, keptFeatures: 1, keptFeatures + 1: 2, 50000: 5} {
		p, err := newPerception(nil, Networks{}, 16, total)
		if err != nil || p.every != every {
			t.Errorf("of %d pictures one in %d is kept, want %d (%v)", total, p.every, every, err)
		}
	}
}
