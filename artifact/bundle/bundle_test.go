package bundle

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/checkpoint"
	"github.com/gritvq/gritvq/internal/seal"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// settings is a whole configuration; a tokenizer's Spec is a part of it.
type settings struct {
	Seed      uint64           `yaml:"seed" doc:"Seed."`
	Model     tokenizer.Config `yaml:"model" doc:"Network."`
	Quantizer vq.Config        `yaml:"quantizer" doc:"Quantizer."`
	Train     struct {
		Rate     float64 `yaml:"rate" doc:"Rate."`
		Patience int     `yaml:"patience" doc:"Patience."`
	} `yaml:"train" doc:"Training."`
}

// sample is a small tokenizer of two parts and two levels with made-up weights.
func sample(t testing.TB) *Bundle {
	t.Helper()
	c, err := tokenizer.DefaultSpec("ste")
	if err != nil {
		t.Fatal(err)
	}
	c.Model.Dim, c.Model.Hidden = 4, []int{6}
	c.Quantizer.Codes, c.Quantizer.Levels, c.Quantizer.Parts = 3, 2, 2
	c.Quantizer.Start.From = "random"
	m, err := tokenizer.New(c, 5)
	if err != nil {
		t.Fatal(err)
	}
	b := &Bundle{Tokenizer: m}
	whole := settings{Seed: 1, Model: c.Model, Quantizer: c.Quantizer}
	whole.Train.Rate = 1e-9
	if err := b.SetConfig(whole); err != nil {
		t.Fatal(err)
	}
	b.Weights = m.InitNetwork(1, tokenizer.Sample{Mean: make([]float64, 5), Variance: []float64{1, 1, 1, 1, 1}})
	set, err := m.Quantizer.Init(vq.Latents{Rows: make([]float32, 8), N: 2, Dim: 4}, weights.Rand(1, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	b.Weights.Merge("quantizer", set)
	for range 4 {
		b.Codebooks = append(b.Codebooks, weights.Normal(weights.Rand(uint64(len(b.Codebooks)), "book"), 1, 3, 2))
		b.Usage = append(b.Usage, []int64{4, 0, 6})
	}
	b.Manifest.CreatedBy = "gritvq test"
	b.Manifest.Created = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	b.Manifest.Data = Data{Name: "x.npy", Fingerprint: "sha256:00", Rows: 10, TrainRows: 9, HeldRows: 1}
	b.Manifest.Metrics.Pictures = &PictureMetrics{Held: &tokenizer.PictureScores{PSNR: math.Inf(1), Images: 2}}
	b.Manifest.Metrics.Held = &tokenizer.Scores{MSE: 0.5, RelativeError: math.Inf(1), Cosine: 0.9, Vectors: 1}
	return b
}

func written(t testing.TB) (string, *Bundle) {
	t.Helper()
	dir, b := t.TempDir(), sample(t)
	if err := Write(dir, b); err != nil {
		t.Fatal(err)
	}
	return dir, b
}

func TestLoadGivesBackWhatWasWritten(t *testing.T) {
	dir, want := written(t)
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range []struct {
		name      string
		got, want any
	}{
		{"config", got.Config, want.Config},
		{"spec", got.Tokenizer.Spec, want.Tokenizer.Spec}, {"weights", got.Weights, want.Weights},
		{"codebooks", got.Codebooks, want.Codebooks}, {"usage", got.Usage, want.Usage},
		{"layout", got.Manifest.Layout, vq.Layout{Dim: 4, Parts: 2, Levels: 2, Vocab: []int{3, 3, 3, 3}}},
		{"data", got.Manifest.Data, want.Manifest.Data},
	} {
		if diff := cmp.Diff(pair.want, pair.got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", pair.name, diff)
		}
	}
	if s := got.Manifest.Metrics.Held; s.MSE != 0.5 || !math.IsNaN(s.RelativeError) || got.Manifest.Metrics.Train != nil {
		t.Errorf("metrics are %+v; an infinite error is stored as null and read as NaN", s)
	}
	if p := got.Manifest.Metrics.Pictures; !math.IsNaN(p.Held.PSNR) || p.Held.Images != 2 || p.Train != nil {
		t.Errorf("metrics are %+v; an infinite PSNR is stored as null and read as NaN", p.Held)
	}
	if got.Manifest.Fingerprint() == [32]byte{} || got.Manifest.Fingerprint() != want.Manifest.Fingerprint() {
		t.Error("the fingerprint was lost")
	}
}

func TestModelFileDependsOnContentOnly(t *testing.T) {
	first, _ := written(t)
	b := sample(t)
	b.Manifest.Created, b.Manifest.CreatedBy = time.Now(), "another version"
	second := t.TempDir()
	if err := Write(second, b); err != nil {
		t.Fatal(err)
	}
	x, _ := os.ReadFile(filepath.Join(first, ModelFile))
	y, _ := os.ReadFile(filepath.Join(second, ModelFile))
	if len(x) == 0 || !bytes.Equal(x, y) {
		t.Error("the same tokenizer gave two different model files")
	}
	b.Codebooks[0].Data[0]++
	if err := Write(second, b); err != nil {
		t.Fatal(err)
	}
	if y, _ = os.ReadFile(filepath.Join(second, ModelFile)); bytes.Equal(x, y) {
		t.Error("another codebook gave the same model file")
	}
}

func TestRuntimeDecodesWithTheStoredCodes(t *testing.T) {
	dir, _ := written(t)
	b, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Runtime(backend)
	if err != nil {
		t.Fatal(err)
	}
	// A latent made of two codes a part is found again as these codes.
	z := make([]float32, 4)
	for part := range 2 {
		for j := range 2 {
			z[part*2+j] = b.Codebooks[part*2].Row(1)[j]
		}
	}
	cell := tokenizer.Cells{N: 1, Height: 1, Width: 1}
	if codes, err := r.Assign(t.Context(), z, cell, tokenizer.Options{Levels: 1}); err != nil || !slices.Equal(codes, []uint32{1, 1}) {
		t.Errorf("codes %v, want [1 1]", codes)
	}
	if x, err := r.Decode(context.Background(), []uint32{1, 1}, 1, 2); err != nil || len(x.Values) != 5 {
		t.Errorf("decoded %v, %v", x, err)
	}
}

// The networks of codes that depend on earlier levels are stored: a loaded tokenizer
// gives the codes and vectors of the one that was written.
func TestConditionalLevelsAreStored(t *testing.T) {
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	for _, levels := range []string{"affine", "implicit"} {
		b := sample(t)
		c := b.Tokenizer.Spec
		c.Quantizer.Transform.Levels, c.Quantizer.Beam = levels, 2
		if b.Tokenizer, err = tokenizer.New(c, 5); err != nil {
			t.Fatal(err)
		}
		if err := b.SetConfig(settings{Seed: 1, Model: c.Model, Quantizer: c.Quantizer}); err != nil {
			t.Fatal(err)
		}
		set, err := b.Tokenizer.Quantizer.Init(vq.Latents{Rows: make([]float32, 8), N: 2, Dim: 4}, weights.Rand(1, "codes"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range set.Paths() {
			noise := weights.Normal(weights.Rand(2, path), 0.3, set[path].Shape...)
			set[path] = noise
		}
		b.Weights.Merge("quantizer", set)
		if b.Codebooks, err = tokenizer.Usable(backend, b.Tokenizer, b.Weights); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := Write(dir, b); err != nil {
			t.Fatal(err)
		}
		loaded, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		z, cells := weights.Normal(weights.Rand(3, "z"), 1, 20, 4).Data, b.Tokenizer.Cells(20)
		var codes [2][]uint32
		var vectors [2][]float32
		for i, b := range []*Bundle{b, loaded} {
			r, err := b.Runtime(backend)
			if err != nil {
				t.Fatal(err)
			}
			if codes[i], err = r.Assign(t.Context(), z, cells, tokenizer.Options{}); err != nil {
				t.Fatal(err)
			}
			if vectors[i], err = r.LookUp(t.Context(), codes[i], cells, 4); err != nil {
				t.Fatal(err)
			}
			r.Close()
		}
		if !slices.Equal(codes[0], codes[1]) || !slices.Equal(vectors[0], vectors[1]) {
			t.Errorf("%s: a loaded tokenizer gives other codes or vectors", levels)
		}
		sum := loaded.Codebooks[0].Row(int(codes[0][0]))[0] + loaded.Codebooks[1].Row(int(codes[0][1]))[0]
		if vectors[0][0] == sum {
			t.Errorf("%s: the vector is the sum of the codes: the test shows nothing", levels)
		}
	}
}

func TestWriteRefusesWhatCannotBeRead(t *testing.T) {
	for want, spoil := range map[string]func(*Bundle){
		"code 2 of codebook 1 is not finite": func(b *Bundle) { b.Codebooks[1].Data[5] = float32(math.NaN()) },
		`variable "encoder/layer0/bias" has`: func(b *Bundle) { b.Weights["encoder/layer0/bias"] = weights.New(7) },
		`"decoder/layer1/bias" is not finite`: func(b *Bundle) {
			b.Weights["decoder/layer1/bias"].Data[0] = float32(math.Inf(-1))
		},
		"shape [3 3]":     func(b *Bundle) { b.Codebooks[0] = weights.New(3, 3) },
		"usage 3 has 2":   func(b *Bundle) { b.Usage[3] = b.Usage[3][:2] },
		"3 codebooks":     func(b *Bundle) { b.Codebooks = b.Codebooks[:3] },
		"state/mean\" is": func(b *Bundle) { delete(b.Weights, "state/mean") },
	} {
		dir, b := written(t)
		spoil(b)
		if err := Write(dir, b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	edit := func(name string, change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, seal.Renew(change(content)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !bytes.Contains(b, []byte(old)) {
				panic("nothing to replace: " + old)
			}
			return bytes.Replace(b, []byte(old), []byte(new), 1)
		}
	}
	cut := func(b []byte) []byte { return b[:len(b)-3] }
	flip := func(b []byte) []byte { b[len(b)-3] ^= 1; return b }
	drop := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil func(*testing.T, string)
		want  string
	}{
		"truncated model":    {edit(ModelFile, cut), "model.safetensors is truncated: it has"},
		"damaged model":      {edit(ModelFile, flip), "model.safetensors is damaged: its checksum"},
		"damaged config":     {edit(ConfigFile, flip), "config.yaml is damaged"},
		"missing model":      {drop(ModelFile), "model.safetensors is missing"},
		"truncated manifest": {edit(artifact.ManifestFile, cut), "manifest.json is damaged: it is no JSON object"},
		"empty manifest":     {edit(artifact.ManifestFile, func([]byte) []byte { return nil }), "manifest.json is damaged"},
		"newer schema":       {edit(artifact.ManifestFile, replace(`"schema": 1`, `"schema": 2`)), "has schema 2, made by gritvq test"},
		"no schema":          {edit(artifact.ManifestFile, replace(`"schema"`, `"scheme"`)), "states no schema version"},
		"another kind":       {edit(artifact.ManifestFile, replace(`"vectors"`, `"images"`)), `is no tokenizer but of kind "images"`},
		"a recommender": {edit(artifact.ManifestFile, func(b []byte) []byte {
			return replace(`"schema": 1`, `"schema": 2`)(replace(`"vectors"`, `"dual"`)(b))
		}), `is no tokenizer but of kind "dual"`},
		"edited config":       {edit(artifact.ManifestFile, replace(`"codes": 3`, `"codes": 4`)), "config is not that of config.yaml"},
		"unknown key":         {edit(artifact.ManifestFile, replace(`"codes": 3`, `"codse": 3`)), `did you mean "quantizer.codes"`},
		"config of no method": {edit(artifact.ManifestFile, replace(`"method": "ste"`, `"method": "sts"`)), "unknown method"},
		"edited layout":       {edit(artifact.ManifestFile, replace(`"parts": 2`, `"parts": 1`)), "layout"},
		"unfinished":          {drop(artifact.ManifestFile), "is unfinished; repeat gritvq train with --resume"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := written(t)
			c.spoil(t, dir)
			_, err := Load(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
		})
	}
	if _, err := Load(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is no tokenizer: it has no manifest.json") {
		t.Errorf("an empty directory gave %v", err)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "there is no tokenizer") {
		t.Errorf("a missing directory gave %v", err)
	}
	dir, _ := written(t)
	if _, err := Load(filepath.Join(dir, ModelFile)); err == nil || !strings.Contains(err.Error(), "is a file; a tokenizer is a directory") {
		t.Errorf("a file gave %v", err)
	}
}

func TestModelFileWithForeignTensorsIsRefused(t *testing.T) {
	for name, want := range map[string]string{
		"codebook/9": "4 code positions", "codebook/x": "4 code positions", "other/1": "no bundle of schema 1",
	} {
		dir, b := written(t)
		path := filepath.Join(dir, ModelFile)
		if err := safetensors.Write(path, append(b.tensors(), safetensors.FromFloat32(name, []int{1}, []float32{1})), nil); err != nil {
			t.Fatal(err)
		}
		if err := b.readModel(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v", name, err)
		}
	}
}

func TestClearLeavesForeignFiles(t *testing.T) {
	dir, _ := written(t)
	for _, name := range []string{"notes.txt", ".checkpoint.safetensors.123.tmp", checkpoint.Newest, LogFile, ReportFile} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "notes.txt" {
		t.Errorf("left %v, %v", entries, err)
	}
	if state, err := Kind.State(dir); state != artifact.Absent || err != nil {
		t.Errorf("state %v, %v", state, err)
	}
}
