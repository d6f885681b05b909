package vqtrain

import (
	"fmt"
	"strings"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
)

// Presets are the names of starting points: what does best on real data, and methods as
// they were published. The last is GRIT by the paper's protocol B, in which raw codes
// learn too; "paper" is its protocol A.
var Presets = []string{"default", "paper", "paper-b"}

// Preset returns a named starting point for vectors, one of [Presets].
func Preset(name, method string) (Config, error) {
	switch name {
	case "default", "":
		return Default(method)
	case "paper":
		return Paper(method)
	case "paper-b":
		return joint(method)
	}
	return Config{}, fmt.Errorf("unknown preset %q, use one of %s", name, strings.Join(Presets, ", "))
}

// Networks returns a named starting point for vectors with a network around the
// quantizer.
func Networks(name, method string) (Config, error) {
	if name == "default" || name == "" {
		return Network(method)
	}
	return Preset(name, method)
}

// Default returns the default preset of a method, the settings that were measured to
// win on real data. It quantizes the vectors themselves: codes start as those of the
// classical residual quantizer, and validation rows judge what training adds to them.
func Default(method string) (Config, error) {
	c, err := Network(method)
	m := registered(method)
	if err != nil || m.Classical != nil {
		return c, err
	}
	q, t := &c.Quantizer, &c.Train
	c.Model.Dim, c.Model.Hidden = 0, nil
	q.Start.Warmup = 0
	t.Steps, t.Log, t.Evaluate, t.Checkpoint = 1000, 20, 100, 100
	t.Flat = 0 // trials judge whole runs: the error falls while the rate does, often from above that of the start
	t.Optimizer.Beta2 = 0.98
	t.Choose = []string{"train.steps", "train.noise"}
	if !m.Tabled() || q.Start.Sample > 0 { // a start of its own
		return c, nil
	}
	q.Start.From, q.Beam, t.Beam = vq.RQ.Name, q.Reference().Beam, 4
	t.Choose = append(t.Choose, searchKey, finishKey, "model.refine.width", "model.refine.drop", "train.optimizer.rate", "train.rates.codes")
	if !m.Concat { // or the method is its condition
		t.Choose = append(t.Choose, "quantizer.transform.levels", "quantizer.transform.hidden", "quantizer.transform.hidden_drop")
	}
	return c, nil
}

// Network returns the preset of a method with encoder and decoder of TIGER's shape
// around the quantizer: codes are placed on latents when the network is warm.
func Network(method string) (Config, error) {
	spec, err := tokenizer.DefaultSpec(method)
	if err != nil {
		return Config{}, err
	}
	m := registered(method)
	_, rates := m.Settings()
	steps := 3000
	if m.Classical != nil {
		steps = 25
	}
	return Config{
		Seed: 1,
		Spec: spec,
		Train: Train{
			Loop: train.Loop{
				Steps: steps, Batch: 1024, ClipNorm: 1, Evaluate: 500, Flat: 0.33, Log: 50, Checkpoint: 250, Keep: 2,
				Schedule: optim.Schedule{Kind: "cosine", Warmup: 100},
			},
			Accumulate: 1, Split: 0.9, Validation: 0.1, HeldRows: 10000, Rates: rates,
			Adversarial: Adversarial{Start: 0.3, Rate: 1},
			Optimizer: Optimizer{Optimizer: optim.Optimizer{
				Name: "adamw", Rate: 1e-3, WeightDecay: 0.3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Momentum: 0.9, Accumulator: 0.1,
			}, ConditionDecay: 0.1},
		},
	}, nil
}

// Paper returns a method as it was published, with the paper's optimizer and
// learning rates.
func Paper(method string) (Config, error) {
	c, err := Network(method)
	if err != nil {
		return c, err
	}
	registered(method).Paper(&c.Quantizer, &c.Train.Rates)
	t := &c.Train
	o := &t.Optimizer
	o.Name, o.Rate, o.WeightDecay, o.MixerDecay, o.ConditionDecay = "adam", 3e-4, 1e-4, 1e-4, 1e-4
	t.Average, t.Flat = 0, 0
	// The paper's absolute rates 1e-3 (M), 2e-3 (W) and 3e-4 (E).
	t.Rates = vq.Rates{Codes: 1, Mixer: 1e-3 / 3e-4, Feature: 2e-3 / 3e-4, Condition: 1, Radius: 0.1}
	return c, nil
}

// joint returns the paper's protocol B.
func joint(method string) (Config, error) {
	c, err := Paper(method)
	if err != nil {
		return c, err
	}
	m, quantizer := registered(method), c.Quantizer
	if m.Joint == nil {
		return c, fmt.Errorf("preset paper-b is a protocol of grit; %s has one published form, use paper", method)
	}
	c.Quantizer = m.Config()
	m.Joint(&c.Quantizer, &vq.Rates{})
	c.Quantizer.Codes, c.Quantizer.Levels = quantizer.Codes, quantizer.Levels
	return c, nil
}

// Pictures returns a named starting point for pictures: the preset of a method
// with the paper's network (256 px to a grid of 16 x 16 latents of 256
// dimensions) and optimizer (Adam, 3e-4, cosine to zero, weight average).
func Pictures(name, method string) (Config, error) {
	c, err := Networks(name, method)
	if err != nil {
		return c, err
	}
	t, published := &c.Train, strings.HasPrefix(name, "paper")
	if !published {
		registered(method).Pictures(&c.Quantizer, &t.Rates)
	}
	c.Model.Dim, c.Model.Hidden = 256, nil
	c.Model.Image = tokenizer.Image{Size: 256, Widths: []int{64, 128, 128, 256, 256}, Blocks: 1, Up: "transposed", Precision: "f32"}
	if !published {
		c.Model.Image.Linear, c.Model.Image.Up, t.Validation = true, "nearest", 0.05
	}
	c.Quantizer.Codes, c.Quantizer.Levels = 16384, 1
	t.Steps, t.Batch, t.Average, t.HeldRows, t.Checkpoint, t.Keep = 10000, 64, 0.999, 256, 500, 2
	t.Optimizer.Name, t.Optimizer.Rate, t.Optimizer.WeightDecay, t.Optimizer.ConditionDecay = "adam", 3e-4, 1e-4, 1e-4
	return c, nil
}

// registered returns a method that is known to exist.
func registered(method string) vq.Method {
	m, _ := vq.MethodNamed(method)
	return m
}
