package picture

import (
	"encoding/json"
	"errors"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/internal/networktest"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task"
)

// smallNetworks is a directory of networks whose weights mean nothing.
func smallNetworks(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := networktest.Write(dir); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func scored(t *testing.T, o ScoreOptions) *SetScores {
	t.Helper()
	s, err := Score(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	trainScenes = "synthetic:scenes?images=40&size=32"
	newScenes   = "synthetic:scenes?images=24&size=32&seed=5"
	heldScenes  = "synthetic:scenes?images=30&size=32&seed=9"
	someTrained = "synthetic:scenes?images=12&size=32" // the first pictures of training
)

// The scores are those of package eval on the features of the pictures.
func TestScoreComparesFeatures(t *testing.T) {
	dir := smallNetworks(t)
	got := scored(t, ScoreOptions{Samples: newScenes, Reference: trainScenes, Held: heldScenes, Metrics: dir, Short: 32, Seed: 3})
	network, err := feature.Load(filepath.Join(dir, "features.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	extractor, err := feature.NewExtractor(gradtest.Engine(t), network)
	if err != nil {
		t.Fatal(err)
	}
	defer extractor.Close()
	features := func(path string) []float32 {
		set, err := images.Open(t.Context(), path, images.Options{Size: 32, Short: 32})
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		items, _, err := set.Read(evenly(set.Len(), 0))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := extractor.Features(t.Context(), items.Pixels, items.N, 32)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	a, b := features(newScenes), features(trainScenes)
	kid, err := eval.KernelDistanceInterval(t.Context(), a, b, 512, eval.IntervalOptions{Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	manifold, err := eval.CompareManifolds(t.Context(), a, b, 512, 3)
	if err != nil {
		t.Fatal(err)
	}
	frechet, err := frechetOf(a, b, 512)
	if err != nil {
		t.Fatal(err)
	}
	if *got.KID != kid || got.Manifold != manifold || got.Frechet != frechet || got.Samples != 24 || got.Reference != 40 || got.Held != 30 ||
		got.Size != 32 {
		t.Errorf("%+v %+v, want %+v, %+v and %g", got.KID, got, kid, manifold, frechet)
	}
	least := math.Inf(1)
	for i := 0; i < len(a); i += 512 {
		for j := 0; j < len(b); j += 512 {
			squared := 0.0
			for k := range 512 {
				squared += math.Pow(float64(a[i+k])-float64(b[j+k]), 2)
			}
			least = min(least, math.Sqrt(squared))
		}
	}
	if d := got.Nearest.Features; math.Abs(d.Least-least) > 1e-5*least || *d.Share > 0.3 {
		t.Errorf("nearest %+v, share %g, want a least distance of %g", d, *d.Share, least)
	}
	if d := got.Diversity; d.Pairs != 12 || !(d.Mean > 0 && d.StandardError > 0 && d.Reference > 0) {
		t.Errorf("diversity %+v", d)
	}
	if !math.IsNaN(got.FrechetInfinity) || !slices.Equal(got.Skipped[0].Scores, []string{"frechet_infinity"}) ||
		!strings.Contains(got.Skipped[0].Reason, "2,560") {
		t.Errorf("extrapolated %g, skipped %+v", got.FrechetInfinity, got.Skipped)
	}
	other := scored(t, ScoreOptions{Samples: newScenes, Reference: heldScenes, Metrics: dir, Short: 32, Seed: 3})
	if *got.KIDHeld != *other.KID || other.KIDHeld != nil {
		t.Errorf("from held-out pictures %+v, want %+v; without any %+v", got.KIDHeld, other.KID, other.KIDHeld)
	}
}

// Copies of training pictures are told from new pictures.
func TestScoreFindsCopies(t *testing.T) {
	dir, drawing := smallNetworks(t), filepath.Join(t.TempDir(), "nearest.png")
	got := scored(t, ScoreOptions{Samples: someTrained, Reference: trainScenes, Held: heldScenes, Metrics: dir, Short: 32, Nearest: drawing})
	for name, d := range map[string]*NearestDistances{"features": got.Nearest.Features, "LPIPS": got.Nearest.LPIPS} {
		if d.Median != 0 || *d.Share != 1 || *d.HeldMedian <= 0 {
			t.Errorf("%s: %+v, share %g", name, d, *d.Share)
		}
	}
	if got.Precision != 1 {
		t.Errorf("precision %g of copies", got.Precision)
	}
	file, err := os.Open(drawing)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if m, err := png.Decode(file); err != nil || m.Bounds().Dx() < 8*128 {
		t.Errorf("the drawing: %v", err)
	}
}

// Features of real pictures come from the cache the second time; other pictures, sizes and damaged files do not.
func TestScoreKeepsFeatures(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "features")
	o := ScoreOptions{Samples: newScenes, Reference: trainScenes, Metrics: smallNetworks(t), Cache: cache}
	first := scored(t, o)
	files, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("cached %q, %v", files, err)
	}
	if again := scored(t, o); *again.KID != *first.KID {
		t.Errorf("from the cache %+v, before %+v", again.KID, first.KID)
	}
	s := &seenSet{Set: scenes(t, 40, 32)}
	if !s.load(files[0], 40) || s.dim != 512 || len(s.rows) != 40 {
		t.Fatal("the stored features cannot be read")
	}
	clear(s.features) // a network that sees nothing
	if err := s.store(files[0]); err != nil {
		t.Fatal(err)
	}
	if blind := scored(t, o); blind.KID.Mean == first.KID.Mean {
		t.Error("the cache is not read")
	}
	if err := os.WriteFile(files[0], []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := scored(t, o); *again.KID != *first.KID {
		t.Errorf("after damage %+v, before %+v", again.KID, first.KID)
	}
	o.Short = 32
	scored(t, o)
	if files, _ = filepath.Glob(filepath.Join(cache, "*")); len(files) != 2 {
		t.Errorf("cached %q for two cuts", files)
	}
}

func TestSetScoresJSON(t *testing.T) {
	s := scored(t, ScoreOptions{Samples: "synthetic:scenes?images=3&size=16", Reference: "synthetic:scenes?images=9&size=16",
		Metrics: onlyFeatures(t), Size: 32})
	content, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(content, &object); err != nil {
		t.Fatal(err)
	}
	want := []string{"coverage", "damaged", "density", "diversity", "feature_network", "frechet", "frechet_infinity", "held", "kid",
		"kid_held", "lpips_network", "nearest", "notes", "precision", "recall", "reference", "samples", "size", "skipped"}
	if keys := slices.Sorted(maps.Keys(object)); !slices.Equal(keys, want) {
		t.Errorf("keys %q", keys)
	}
	for _, name := range []string{"diversity", "frechet_infinity", "precision", "recall", "density", "coverage", "lpips_network"} {
		if object[name] != nil {
			t.Errorf("%s is %v", name, object[name])
		}
	}
	var back SetScores
	if err := json.Unmarshal(content, &back); err != nil || *back.KID != *s.KID || !math.IsNaN(back.Precision) || len(back.Skipped) != 4 {
		t.Errorf("read back %+v, %v", back, err)
	}
	text := strings.Join(s.Remarks(), "\n")
	for _, part := range []string{"KID leads", "diversity, nearest.lpips skipped: there is no lpips*.safetensors", "more than 2,560 pictures",
		"balls of 3 neighbours", "--held", "too few for the covariance of 512 features"} {
		if !strings.Contains(text, part) {
			t.Errorf("the remarks lack %q:\n%s", part, text)
		}
	}
}

// onlyFeatures is a directory without LPIPS.
func onlyFeatures(t *testing.T) string {
	dir := smallNetworks(t)
	if err := os.Remove(filepath.Join(dir, "lpips.safetensors")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestScoreRefuses(t *testing.T) {
	dir, empty := smallNetworks(t), t.TempDir()
	t.Setenv("GRITVQ_METRICS", "")
	t.Setenv("GRITVQ_DATA", "")
	for _, c := range []struct {
		o     ScoreOptions
		want  string
		usage bool
	}{
		{ScoreOptions{}, "none was given; name a directory", false},
		{ScoreOptions{Metrics: empty}, "there is none in " + empty, false},
		{ScoreOptions{Metrics: dir, Samples: "nowhere"}, "nowhere", false},
		{ScoreOptions{Metrics: dir, Samples: newScenes, Reference: "nowhere.tar"}, "nowhere.tar", false},
		{ScoreOptions{Neighbours: -1}, "--neighbours -1", true},
		{ScoreOptions{Percentile: 100}, "--percentile 100", true},
		{ScoreOptions{Size: -1}, "must not be negative", true},
		{ScoreOptions{Nearest: "n.jpg"}, "written as .png", true},
		{ScoreOptions{Nearest: filepath.Join(empty, "a", "n.png")}, "there is no directory", false},
	} {
		_, err := Score(t.Context(), c.o, task.Silent{})
		_, misused := errors.AsType[usage.Error](err)
		if err == nil || !strings.Contains(err.Error(), c.want) || misused != c.usage || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}
