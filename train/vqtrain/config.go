// Package vqtrain adds to package train what tokenizers need: warm-up and start of
// codes, cached codebooks, dead-code resets, running averages, monitoring and the
// perceptual loss.
package vqtrain

import (
	"fmt"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Config is a whole experiment: what is trained, and how.
type Config struct {
	Seed           uint64 `yaml:"seed" doc:"Decides initial weights, the split and the order of the data."`
	tokenizer.Spec `yaml:",inline"`
	Train          Train `yaml:"train" doc:"The training run."`
}

// Train configures the run.
type Train struct {
	train.Loop `yaml:",inline"`
	Accumulate int       `yaml:"accumulate" doc:"Parts in which a batch is taken, one after another, so that large ones fit into memory."`
	Split      float64   `yaml:"split" doc:"Share of the rows trained on; the rest is held out (ignored when a held-out file is given)."`
	HeldRows   int       `yaml:"held_rows" doc:"Held-out rows scored during training."`
	Perceptual float64   `yaml:"perceptual" doc:"Pictures: weight of the l1 distance in a perceptual network's features (0: none)."`
	Optimizer  Optimizer `yaml:"optimizer" doc:"How gradients become steps."`
	Rates      Rates     `yaml:"rates" doc:"Learning rates of the parameter groups, as multiples of optimizer.rate."`
}

// Docs says what shared settings mean to a tokenizer.
func (Train) Docs() map[string]string {
	return map[string]string{
		"steps":    "Training steps; of classical methods, iterations of each k-means.",
		"batch":    "Vectors or pictures a step.",
		"evaluate": "Steps between evaluations on held-out rows (0: only at the end).",
	}
}

// Optimizer is that of all training runs, with a decay for mixers.
type Optimizer struct {
	optim.Optimizer `yaml:",inline"`
	MixerDecay      float64 `yaml:"mixer_decay" doc:"The same as weight_decay for the mixer M."`
}

// Rates are multiples of the optimizer's rate.
type Rates struct {
	Codes   float64 `yaml:"codes" doc:"Raw codes E."`
	Mixer   float64 `yaml:"mixer" doc:"Mixer M."`
	Feature float64 `yaml:"feature" doc:"Feature map W and the gain."`
	Radius  float64 `yaml:"radius" doc:"Learned radius scalars."`
}

// Default returns the default preset for a method: the settings that were
// measured to win on real data.
func Default(method string) (Config, error) {
	spec, err := tokenizer.DefaultSpec(method)
	if err != nil {
		return Config{}, err
	}
	rates := Rates{Codes: 1, Mixer: 1, Feature: 1, Radius: 0.1}
	if method == "simvq" {
		rates.Feature = 10 // all its codes move through W alone
	}
	steps := 3000
	if vq.Classical(method) {
		steps = 25
	}
	return Config{
		Seed: 1,
		Spec: spec,
		Train: Train{
			Loop: train.Loop{
				Steps: steps, Batch: 1024, ClipNorm: 1, Evaluate: 500, Log: 50, Checkpoint: 250, Keep: 1,
				Schedule: optim.Schedule{Kind: "cosine", Warmup: 100},
			},
			Accumulate: 1, Split: 0.9, HeldRows: 10000, Rates: rates,
			Optimizer: Optimizer{Optimizer: optim.Optimizer{
				Name: "adamw", Rate: 1e-3, WeightDecay: 0.3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Momentum: 0.9, Accumulator: 0.1,
			}},
		},
	}, nil
}

// Paper returns the paper's letter for GRIT (protocol A, its learning rates),
// and the plain rivals for the other methods: no resets, no extras.
func Paper(method string) (Config, error) {
	c, err := Default(method)
	if err != nil {
		return c, err
	}
	if method == "grit" {
		c.Quantizer = c.Quantizer.Paper()
	} else {
		c.Quantizer.Resets.Every = 0
		c.Quantizer.Start = vq.Start{From: "random"}
	}
	c.Train.Optimizer.Name = "adam"
	c.Train.Optimizer.Rate = 3e-4
	c.Train.Optimizer.WeightDecay = 1e-4
	c.Train.Optimizer.MixerDecay = 1e-4
	c.Train.Average = 0
	// The paper's absolute rates 1e-3 (M), 2e-3 (W) and 3e-4 (E).
	c.Train.Rates = Rates{Codes: 1, Mixer: 1e-3 / 3e-4, Feature: 2e-3 / 3e-4, Radius: 0.1}
	return c, nil
}

// Pictures returns a named starting point for pictures: the preset of a method
// with the paper's network (256 px to a grid of 16 x 16 latents of 256
// dimensions) and optimizer (Adam, 3e-4, cosine to zero, weight average).
func Pictures(name, method string) (Config, error) {
	c, err := Preset(name, method)
	if err != nil {
		return c, err
	}
	if name != "paper" {
		c.suitPictures()
	}
	c.Model.Dim, c.Model.Hidden = 256, nil
	c.Model.Image = tokenizer.Image{Size: 256, Widths: []int{64, 128, 128, 256, 256}, Blocks: 1, Up: "transposed", Precision: "f32"}
	c.Quantizer.Codes, c.Quantizer.Levels = 16384, 1
	t := &c.Train
	t.Steps, t.Batch, t.Average, t.HeldRows, t.Checkpoint, t.Keep = 10000, 64, 0.999, 256, 500, 2
	t.Optimizer.Name, t.Optimizer.Rate, t.Optimizer.WeightDecay = "adam", 3e-4, 1e-4
	return c, nil
}

// suitPictures adjusts a quantizer to pictures (results/pictures-tuning.md). The
// learning rate is low for codes that the loss alone moves, as GRIT's; theirs is
// three times that, and dead ones go where codes are in demand. The radius moves
// codes early; as k falls, small codebook and commitment losses settle them in
// the middle of what chose them. The error of a picture is a tenth of a vector's
// or less, and so are LFQ's own losses, which otherwise outweigh it.
func (c *Config) suitPictures() {
	switch c.Quantizer.Method {
	case "grit":
		q := &c.Quantizer
		q.Radius.Kind, q.Radius.Mode = "power", "ratio"
		q.Radius.Scalar.Use, q.Radius.Scalar.Value, q.Radius.Scalar.End = "scheduled", 1, 0.1
		q.Loss.Codebook, q.Loss.Commitment = 0.5, 0.1
		q.Resets.Donor = "used"
		c.Train.Rates.Codes, c.Train.Rates.Mixer, c.Train.Rates.Feature = 3, 3, 3
	case "lfq":
		c.Quantizer.Entropy.Weight, c.Quantizer.Entropy.Temperature, c.Quantizer.Loss.Commitment = 0.01, 1, 0.02
	}
}

// Preset returns a named starting point.
func Preset(name, method string) (Config, error) {
	switch name {
	case "default", "":
		return Default(method)
	case "paper":
		return Paper(method)
	}
	return Config{}, fmt.Errorf("unknown preset %q, use default or paper", name)
}

// ReadConfig reads a stored configuration, as YAML or as JSON (which is YAML
// too). Keys that were added since keep the defaults of the method.
func ReadConfig(document []byte) (Config, error) {
	spec, err := tokenizer.ReadSpec(document)
	if err != nil {
		return Config{}, err
	}
	c, err := Default(spec.Quantizer.Method)
	if err != nil {
		return c, err
	}
	if err := config.Decode(document, &c); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// Tokenizer composes the tokenizer of the experiment for items of input numbers.
func (c Config) Tokenizer(input int) (*tokenizer.Tokenizer, error) {
	m, err := tokenizer.New(c.Spec, input)
	if err == nil && vq.Classical(c.Quantizer.Method) && !m.Identity() {
		err = fmt.Errorf("model: %s is fitted to the vectors themselves, without a network; use --hidden none --dim 0", c.Quantizer.Method)
	}
	return m, err
}

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	t := c.Train
	if err := c.loop().Validate(); err != nil {
		return err
	}
	switch {
	case t.Accumulate > 1 && t.Batch%t.Accumulate != 0:
		return fmt.Errorf("train.accumulate: a batch of %d cannot be taken in %d equal parts", t.Batch, t.Accumulate)
	case t.Accumulate < 0 || t.Perceptual < 0 || t.HeldRows < 0:
		return fmt.Errorf("train: accumulate, perceptual and held_rows must not be negative")
	case t.Accumulate > 1 && c.Quantizer.Cache.Period > 1:
		return fmt.Errorf("train.accumulate: parts of a batch and a cached codebook exclude each other; set quantizer.cache.period to 1")
	case !(t.Split > 0 && t.Split <= 1):
		return fmt.Errorf("train.split: %g must be above 0 and at most 1", t.Split)
	}
	return c.Model.Validate()
}

// loop is what the training loop needs to know.
func (c Config) loop() train.Config {
	return train.Config{Seed: c.Seed, Loop: c.Train.Loop, Optimizer: c.Train.Optimizer.Optimizer}
}

// rate is the multiple of the base rate a group trains with.
func (r Rates) rate(g weights.Group) float64 {
	switch g {
	case weights.Codes:
		return r.Codes
	case weights.Mixer:
		return r.Mixer
	case weights.Feature:
		return r.Feature
	case weights.Radius:
		return r.Radius
	}
	return 1
}
