package compare

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// Every registered method takes part by default, with the same budget and bits.
func TestAllMethodsAreCompared(t *testing.T) {
	for _, o := range []Options{
		{Settings: tokenize.Settings{Sets: []string{"quantizer.codes=256", "quantizer.levels=4"}}},
		{Settings: tokenize.Settings{Sets: []string{"quantizer.codes=1024", "quantizer.levels=1"}}},
		{Bits: 32},
	} {
		o.Input.Path = "x.npy"
		p, err := newPlan(o)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := p.cells(blank(t, "sha256:x"))
		if err != nil {
			t.Fatal(err)
		}
		if len(cells) != len(vq.MethodNames()) {
			t.Errorf("%v: %d cells for %d methods", p.points, len(cells), len(vq.MethodNames()))
		}
		for _, cell := range cells {
			if cell.Err != nil {
				t.Errorf("%v: %s: %v", p.points, cell.Method, cell.Err)
			}
			classical, c := vq.Classical(cell.Method), cell.Config
			if len(c.Model.Hidden) > 0 || classical == slices.Contains(c.Train.Choose, "train.steps") {
				t.Errorf("%v: %s has the network %v, and the data choose %v", p.points, cell.Method, c.Model.Hidden, c.Train.Choose)
			}
			if c.Quantizer.Codes != p.points[0].Codes || c.Quantizer.Levels*c.Quantizer.Parts != p.points[0].Levels {
				t.Errorf("%v: %s has %d x %d x %d codes", p.points, cell.Method, c.Quantizer.Levels, c.Quantizer.Parts, c.Quantizer.Codes)
			}
		}
	}
}

// With a network around the quantizer every method has the same number of steps.
func TestNetworksHaveEqualSteps(t *testing.T) {
	p, err := newPlan(Options{Input: tokenize.Input{Path: "x.npy"}, Settings: tokenize.Settings{Sets: []string{"model.dim=8"}},
		Methods: []string{"ste", "grit", "fsq"}})
	if err != nil {
		t.Fatal(err)
	}
	cells, err := p.cells(blank(t, "sha256:x"))
	if err != nil || len(cells) != 3 {
		t.Fatal(cells, err)
	}
	for _, cell := range cells {
		if c := cell.Config; c.Train.Steps != DefaultSteps || len(c.Train.Choose) > 0 || len(c.Model.Hidden) == 0 || c.Model.Dim != 8 {
			t.Errorf("%s has %d steps and the network %v", cell.Method, c.Train.Steps, c.Model.Hidden)
		}
	}
}

func TestPlansLayerSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my.yaml")
	const settings = "seed: 5\ntrain: {steps: 3000, batch: 77}\nquantizer: {method: ema, codes: 64}\n"
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := newPlan(Options{Input: tokenize.Input{Path: "x.npy"},
		Settings: tokenize.Settings{File: file, Sets: []string{"train.clip_norm=3"}},
		Methods:  []string{"ste", "grit", "ste"}, Seeds: 2, Sweeps: []string{"levels=2,1,2"}})
	if err != nil {
		t.Fatal(err)
	}
	points := []Point{{Codes: 64, Levels: 1, Parts: 1}, {Codes: 64, Levels: 2, Parts: 1}}
	names := p.settings(blank(t, "")).Methods
	if !slices.Equal(names, []string{"ste", "grit"}) || !slices.Equal(p.seeds, []uint64{5, 6}) || !slices.Equal(p.points, points) {
		t.Errorf("the plan is %+v", p)
	}
	c, err := p.config(p.Variants[1], points[1], 6)
	if err != nil {
		t.Fatal(err)
	}
	usual, err := vqtrain.Default("grit")
	if err != nil {
		t.Fatal(err)
	}
	if c.Quantizer.Method != "grit" || c.Quantizer.Levels != 2 || c.Quantizer.Codes != 64 || c.Seed != 6 || c.Train.Steps != 3000 ||
		c.Train.Batch != 77 || c.Train.ClipNorm != 3 || c.Train.Rates != usual.Train.Rates ||
		c.Quantizer.Transform.Kind != usual.Quantizer.Transform.Kind {
		t.Errorf("the configuration is %+v", c)
	}
}

// A variant is a method under a name of its own, with its own settings.
func TestVariantsTakePart(t *testing.T) {
	p, err := newPlan(Options{Input: tokenize.Input{Path: "x.npy"}, Methods: []string{"ste"},
		Variants: []Variant{{Name: "ste, bare", Method: "ste", Change: func(c *vqtrain.Config) { c.Quantizer.Resets.Every = 0 }}}})
	if err != nil {
		t.Fatal(err)
	}
	cells, err := p.cells(blank(t, ""))
	if err != nil || len(cells) != 2 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	if bare := cells[1]; bare.Method != "ste, bare" || bare.Config.Quantizer.Method != "ste" || bare.Config.Quantizer.Resets.Every != 0 ||
		bare.ID == cells[0].ID {
		t.Errorf("the variant is %+v", bare)
	}
}

func TestPlansRefuseUnknownMethods(t *testing.T) {
	for method, want := range map[string]string{"emma": `did you mean "ema"`, "zzzzzzzz": "use all or some of"} {
		if _, err := newPlan(Options{Input: tokenize.Input{Path: "x.npy"}, Methods: []string{method}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", method, err, want)
		}
	}
}
