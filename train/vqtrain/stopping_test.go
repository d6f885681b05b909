package vqtrain

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/vq"
)

// Patience stops a run that no longer improves; best decides whether it exports
// the weights of its best evaluation or of its last step.
func TestPatienceStopsAndBestExports(t *testing.T) {
	c := tiny(t, "ste")
	c.Train.Steps, c.Train.Evaluate, c.Train.Patience = 200, 5, 3
	c.Train.Optimizer.Name, c.Train.Optimizer.Rate, c.Train.ClipNorm = "sgd", 3, 0 // too fast: it improves, then thrashes
	c.Train.Schedule.Warmup, c.Train.Schedule.Kind = 60, "constant"
	for _, c.Train.Best = range []bool{false, true} {
		var errors []float64
		var text string
		trainer := start(t, c, open(t, tinySet), t.TempDir(), false, Observer{Step: func(r Record) {
			if r.Held != nil {
				errors, text = append(errors, r.Held.RelativeError), r.Event
			}
		}})
		set := run(t, trainer)
		best := slices.Index(errors, slices.Min(errors))
		if len(errors) != best+1+c.Train.Patience {
			t.Fatalf("stopped after %d evaluations, the best was number %d: %v", len(errors), best+1, errors)
		}
		since := fmt.Sprintf("no improvement since step %d: stopping early", 5*(best+1))
		if trainer.Step() == c.Train.Steps || text != since {
			t.Errorf("ended at step %d with %q, want %q", trainer.Step(), text, since)
		}
		want := errors[len(errors)-1]
		if c.Train.Best {
			want = errors[best]
		}
		got := score(t, trainer, set, trainer.source.Held)
		if math.Abs(got.RelativeError-want) > 1e-9 {
			t.Errorf("best %v: the export scores %g, want %g (all: %v)", c.Train.Best, got.RelativeError, want, errors)
		}
	}
}

// Evaluations score at most held_rows rows, all when it is 0.
func TestEvaluationRespectsItsBound(t *testing.T) {
	trainer := start(t, tiny(t, "ste"), open(t, tinySet), t.TempDir(), false, Observer{})
	run(t, trainer)
	set, err := trainer.loop.Variables(true)
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]int{0: 60, 7: 7, 1000: 60} {
		trainer.config.Train.HeldRows = limit
		if _, _, err := trainer.evaluate(t.Context(), set); err != nil || trainer.record.Held.Scored != want {
			t.Errorf("limit %d: %d rows scored (%v), want %d", limit, trainer.record.Held.Scored, err, want)
		}
	}
}

func TestTooFewRowsAreRefused(t *testing.T) {
	source, c := open(t, tinySet), tiny(t, "ste")
	source.Train = dataset.All(5)
	_, err := New(t.Context(), nil, c, source, Options{Dir: t.TempDir(), Data: "data"})
	if err == nil || !strings.Contains(err.Error(), "5 training rows") || !strings.Contains(err.Error(), "8 codes") {
		t.Errorf("got %v", err)
	}
}

func TestValidateNamesTheSetting(t *testing.T) {
	for field, change := range map[string]func(c *Config){
		"train.steps":            func(c *Config) { c.Train.Steps = 0 },
		"train.batch":            func(c *Config) { c.Train.Batch = 0 },
		"train.split":            func(c *Config) { c.Train.Split = 1.5 },
		"train.optimizer.rate":   func(c *Config) { c.Train.Optimizer.Rate = math.NaN() },
		"train.optimizer.name":   func(c *Config) { c.Train.Optimizer.Name = "lion" },
		"train.optimizer":        func(c *Config) { c.Train.Optimizer.Beta2 = 1 },
		"train.schedule.kind":    func(c *Config) { c.Train.Schedule.Kind = "step" },
		"train.average":          func(c *Config) { c.Train.Average = 1 },
		"checkpoint":             func(c *Config) { c.Train.Checkpoint = 0 },
		"model.activation":       func(c *Config) { c.Model.Activation = "tanh" },
		"model.standardize":      func(c *Config) { c.Model.Standardize = "both" },
		"quantizer.codes":        func(c *Config) { c.Quantizer.Codes = 0 },
		"quantizer.start.warmup": func(c *Config) { c.Quantizer.Start.Warmup = 1 },
	} {
		c := tiny(t, "grit")
		change(&c)
		_, err := New(t.Context(), nil, c, open(t, tinySet), Options{Dir: t.TempDir(), Data: "data"})
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got %v", field, err)
		}
	}
	for _, preset := range []string{"default", "paper"} {
		for _, method := range []string{"grit", "ste", "ema"} {
			c, err := Preset(preset, method)
			if err == nil {
				err = c.Validate()
			}
			if err != nil {
				t.Errorf("%s %s: %v", preset, method, err)
			}
		}
	}
	for _, m := range vq.MethodNames() { // trials judge whole runs, which nothing may shorten
		if c, err := Default(m); err != nil || len(c.Train.Choose) > 0 && c.Train.Flat+float64(c.Train.Patience) > 0 {
			t.Errorf("%s chooses %v and stops by %g, %d (%v)", m, c.Train.Choose, c.Train.Flat, c.Train.Patience, err)
		}
	}
	for _, pictures := range []bool{false, true} {
		preset := Preset
		if pictures {
			preset = Pictures
		}
		c, err := preset("paper-b", "grit")
		if err == nil {
			err = c.Validate()
		}
		if err != nil || c.Quantizer.Learn != "gradient" || c.Quantizer.Loss.Usage == 0 || c.Model.Image.Linear {
			t.Errorf("paper-b, pictures %v: %v", pictures, err)
		}
	}
	if _, err := Preset("paper-b", "ema"); err == nil || !strings.Contains(err.Error(), "use paper") {
		t.Errorf("protocol B of ema: %v", err)
	}
	if _, err := Preset("fast", "grit"); err == nil || !strings.Contains(err.Error(), "fast") {
		t.Errorf("unknown preset: %v", err)
	}
}

func TestReadConfig(t *testing.T) {
	want, err := Network("ema") // absent keys are the behaviour before them
	if err != nil {
		t.Fatal(err)
	}
	want.Spec, want.Train.Flat = want.Spec.Earlier(), 0
	want.Seed, want.Model.Dim, want.Train.Steps = 9, 7, 3
	c, err := ReadConfig([]byte("seed: 9\nmodel: {dim: 7}\nquantizer: {method: ema}\ntrain: {steps: 3}\n"))
	if err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, %v", c, err)
	}
	for document, want := range map[string]string{
		"quantizer: {method: none}":                       "unknown method",
		"quantizer: {method: ema}\ntrain: {stesp: 5}":     `did you mean "train.steps"`,
		"quantizer: {method: ema}\ntrain: {steps: 0}":     "train.steps",
		"quantizer: {method: ema}\nmodel: {hidden: [-1]}": "model.hidden",
	} {
		if _, err := ReadConfig([]byte(document)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", document, err, want)
		}
	}
}
