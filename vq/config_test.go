package vq

import (
	"reflect"
	"testing"

	"github.com/gritvq/gritvq/weights"
)

func TestValidateNamesTheField(t *testing.T) {
	for field, break_ := range map[string]func(c *Config){
		"quantizer.method":              func(c *Config) { c.Method = "vae" },
		"quantizer.codes":               func(c *Config) { c.Codes = 1 },
		"quantizer.levels":              func(c *Config) { c.Levels = 0 },
		"levels: 1000000 times 1":       func(c *Config) { c.Levels = 1_000_000 },
		"quantizer.parts":               func(c *Config) { c.Parts = 9 },
		"quantizer.dropout":             func(c *Config) { c.Dropout = 1.5 },
		"quantizer.start":               func(c *Config) { c.Start.Noise = -1 },
		"quantizer.start.from":          func(c *Config) { c.Start.From = "zeros" },
		"quantizer.learn":               func(c *Config) { c.Learn = "adam" },
		"quantizer.average":             func(c *Config) { c.Average.Decay = 1 },
		"quantizer.loss.usage_softness": func(c *Config) { c.Loss.UsageSoftness = 0 },
		"quantizer.cache.period":        func(c *Config) { c.Cache.Period = 0 },
		"quantizer.cache.gradient":      func(c *Config) { c.Cache.Gradient = "later" },
		"quantizer.resets":              func(c *Config) { c.Resets.Every = -1 },
		"quantizer.resets.donor":        func(c *Config) { c.Resets.Donor = "neighbours" },
		"quantizer.shared":              func(c *Config) { c.Shared, c.Learn = true, "ema" },
		"row_norm":                      func(c *Config) { c.Transform.RowNorm = "latent" },
		"rank":                          func(c *Config) { c.Transform.Rank = 0 },
		"quantizer.radius.kind":         func(c *Config) { c.Radius.Kind = "round" },
	} {
		c := small(t, "grit", 2)
		break_(&c)
		_, err := New(c, 8)
		mentions(t, err, field)
	}
	ste := small(t, "ste", 1)
	ste.Transform.Kind = "linear"
	mentions(t, ste.Validate(8), "quantizer.transform", "grit")

	for _, break_ := range []func(c *Config){
		func(c *Config) { c.Average.Pull = 1.5 },
		func(c *Config) { c.Average.Pull, c.Learn = 1, "ema" },
		func(c *Config) { *c = small(t, "fsq", 1); c.Average.Pull = 1 },
	} {
		c := small(t, "grit", 1)
		break_(&c)
		mentions(t, c.Validate(8), "quantizer.average.pull")
	}
	shared := small(t, "grit", 2)
	shared.Shared, shared.Average.Pull = true, 1
	mentions(t, shared.Validate(8), "quantizer.shared", "average.pull")
}

func TestDefaultsOfEveryMethodAreValid(t *testing.T) {
	for _, method := range MethodNames() {
		c, err := Defaults(method)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(32); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		if c.Method != method {
			t.Errorf("the defaults of %s are for %s", method, c.Method)
		}
	}
	paper, rates := GRIT.Settings()
	GRIT.Paper(&paper, &rates)
	if err := paper.Validate(32); err != nil {
		t.Errorf("the paper's letter: %v", err)
	}
	if !paper.Radius.PaperScale {
		t.Error("the paper's pseudo-Huber radius has the scale h², the preset h")
	}
	joint, rates := GRIT.Settings()
	GRIT.Joint(&joint, &rates)
	if err := joint.Validate(32); err != nil {
		t.Errorf("the paper's protocol B: %v", err)
	}
	paper.Learn, paper.Transform.Joint, paper.Loss.Usage = "gradient", true, joint.Loss.Usage
	paper.Resets = mustDefaults(t, "grit").Resets
	paper.Resets.Until = 1
	if joint.Loss.Usage < 1e-4 || joint.Loss.Usage > 5e-4 || !reflect.DeepEqual(joint, paper) {
		t.Errorf("protocol B differs from A by more than what learns, the regulariser and resets: %+v", joint)
	}
	_, err := Defaults("vae")
	mentions(t, err, "vae", "ema", "grit", "ste")
}

func mustDefaults(t *testing.T, method string) Config {
	c, err := Defaults(method)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Only codes can be kept out of the optimizer, and only when they do not learn
// by gradient.
func TestFrozenGroups(t *testing.T) {
	for learn, frozen := range map[string]bool{"gradient": false, "ema": true, "frozen": true} {
		for _, parts := range []int{1, 2} {
			c := small(t, "grit", 1)
			c.Learn, c.Parts = learn, parts
			q, err := New(c, 8)
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range weights.Groups {
				if got := Frozen(q, g); got != (frozen && g == weights.Codes) {
					t.Errorf("learn %s, %d parts: group %s frozen: %v", learn, parts, g, got)
				}
			}
		}
	}
}
