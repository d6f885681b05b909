package transform

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/weights"
)

func TestValidateNamesTheField(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"kind":          func(c *Config) { c.Kind = "quadratic" },
		"rank":          func(c *Config) { c.Rank = 0 },
		"rank is 11":    func(c *Config) { c.Kind, c.Rank = KindLowRank, 11 },
		"groups":        func(c *Config) { c.Kind, c.Groups = KindGrouped, 0 },
		"groups is 11":  func(c *Config) { c.Kind, c.Groups = KindGrouped, 11 },
		"topk":          func(c *Config) { c.Kind, c.TopK = KindAttentionTopK, 11 },
		"score_dim":     func(c *Config) { c.Kind, c.ScoreDim = KindAttention, 0 },
		"temperature":   func(c *Config) { c.Kind, c.Temperature = KindAttentionLowRank, 0 },
		"row_norm is":   func(c *Config) { c.Kind, c.RowNorm = KindAttentionRowNorm, RowNormGain },
		"diagonal":      func(c *Config) { c.Kind, c.Diagonal = KindAttention, 1 },
		"row_norm":      func(c *Config) { c.RowNorm = "unit" },
		"spectral_clip": func(c *Config) { c.SpectralClip = -1 },
	} {
		c := smallConfig(KindLinear)
		change(&c)
		err := c.Validate(testCodes, testDim)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v, want one that begins with %q", err, want)
		}
		if _, initErr := c.Init(weights.New(testCodes, testDim), 1, testRand()); initErr == nil {
			t.Errorf("Init accepted a bad %s", want)
		}
	}
	if err := Default().Validate(1024, 64); err != nil {
		t.Errorf("the default is not valid: %v", err)
	}
	if err := smallConfig(KindLinear).Validate(0, 4); err == nil {
		t.Error("no codes gave no error")
	}
}

func TestInitErrors(t *testing.T) {
	c := smallConfig(KindLinear)
	if _, err := c.Init(weights.New(12), 1, testRand()); err == nil || !strings.Contains(err.Error(), "[K,d]") {
		t.Errorf("codes that are a vector gave %v", err)
	}
	c.RowNorm = RowNormGain
	if _, err := c.Init(weights.New(testCodes, testDim), 0, testRand()); err == nil || !strings.Contains(err.Error(), "gain") {
		t.Errorf("a zero gain gave %v", err)
	}
}

func TestVariablesBelongToTheTransform(t *testing.T) {
	for name, c := range everyConfig() {
		set, _ := start(t, c, testCodes, testDim)
		for path := range set {
			if g := weights.GroupOf(path); g != weights.Mixer && g != weights.Feature && g != weights.State {
				t.Errorf("%s: %s belongs to group %s", name, path, g)
			}
		}
	}
	// K = 1024, d = 64: 2 K r + d² = 65536 + 4096.
	if set, _ := start(t, Default(), 1024, 64); set.Count() != 69632 {
		t.Errorf("the default adds %d parameters, want 69632", set.Count())
	}
}

func TestPowerVectorOnlyWithAClip(t *testing.T) {
	c := smallConfig(KindLinear)
	for _, clip := range []float64{0, 2} {
		c.SpectralClip = clip
		set, _ := start(t, c, testCodes, testDim)
		if _, ok := set["state/feature_u"]; ok != (clip > 0) {
			t.Errorf("spectral_clip %g: state/feature_u present %v", clip, ok)
		}
	}
}

func TestAttentionOfASingleCode(t *testing.T) {
	for _, kind := range attentionKinds {
		c := smallConfig(kind)
		c.Rank, c.TopK = 1, 1
		set, codes := start(t, c, 1, testDim)
		for j, x := range c.Usable(set, codes) {
			if diff := x - float64(codes.Data[j]); diff > 1e-6 || diff < -1e-6 {
				t.Errorf("%s: the only code became %g, it was %g", kind, x, codes.Data[j])
			}
		}
	}
}

// Configuration tools read the tags of every field, and long texts from Docs.
func TestEveryFieldIsDocumented(t *testing.T) {
	fields := reflect.TypeFor[Config]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Tag.Get("yaml") == "-" {
			continue // not a setting
		}
		if f.Tag.Get("yaml") == "" || f.Tag.Get("doc")+(Config{}).Docs()[f.Tag.Get("yaml")] == "" {
			t.Errorf("field %s has no yaml or doc tag", f.Name)
		}
	}
	for _, name := range (Config{}).Enums()["kind"] {
		if (Config{Kind: Kind(name)}).mixer() == nil {
			t.Errorf("kind %q is offered but unknown", name)
		}
	}
}
