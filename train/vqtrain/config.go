// Package vqtrain trains tokenizers. It extends the loop of package train by the
// warm-up and start of codes, cached codebooks, dead-code resets, running averages,
// monitoring and the perceptual loss.
package vqtrain

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Config is a whole experiment.
type Config struct {
	Seed           uint64 `yaml:"seed" doc:"Decides initial weights, the split and the order of the data."`
	tokenizer.Spec `yaml:",inline"`
	Train          Train `yaml:"train" doc:"The training run."`
}

// Train configures the run.
type Train struct {
	train.Loop  `yaml:",inline"`
	Accumulate  int         `yaml:"accumulate" doc:"Number of parts that a batch is processed in, to save memory."`
	Split       float64     `yaml:"split" doc:"Share of the rows trained on; the rest is held out (ignored when a held-out file is given)."`
	HeldRows    int         `yaml:"held_rows" doc:"Held-out rows scored during training."`
	Validation  float64     `yaml:"validation"`
	Choose      []string    `yaml:"choose"`
	KeepStart   bool        `yaml:"keep_start" doc:"Take no training steps: the tokenizer is the start."`
	Freeze      []string    `yaml:"freeze"`
	Beam        int         `yaml:"beam"`
	Noise       float64     `yaml:"noise" doc:"Vectors: standard deviation of noise on the training rows, relative to the data's."`
	Perceptual  float64     `yaml:"perceptual" doc:"Pictures: weight of the l1 distance in a perceptual network's features (0: none)."`
	Adversarial Adversarial `yaml:"adversarial" doc:"Pictures: the loss of a discriminator."`
	Finish      float64     `yaml:"finish" doc:"Share of the steps, the last ones, that train the decoder alone (1: all)."`
	Optimizer   Optimizer   `yaml:"optimizer" doc:"How gradients become steps."`
	Rates       vq.Rates    `yaml:"rates" doc:"Learning rates of the parameter groups, as multiples of optimizer.rate."`
}

// Docs describes shared settings in the words of tokenizers.
func (Train) Docs() map[string]string {
	return map[string]string{
		"steps":    "Training steps; of classical methods, iterations of each k-means.",
		"batch":    "Vectors or pictures a step.",
		"evaluate": "Steps between evaluations on held-out rows (0: only at the end).",
		"flat": "Stop when the held-out error has been flat, within 0.1 %, for this share of the steps (0: never; not with a perceptual or " +
			"adversarial loss, nor with finish).",
		"validation": "Share of the training rows that judge choices; the tokenizer is then trained on all of them. Pictures: a share, " +
			"at most 128, that is not trained on and judges whether training improved on the linear path that it started from.",
		"freeze": "Parts that stay as they are when training starts from a tokenizer (--from): encoder, codes, decoder. Levels and " +
			"codes that are added are trained.",
		"choose": "Settings that the data choose (empty: train exactly what is configured): by the number of training rows and, where " +
			"several values are tried, one setting after the other, by validation rows. If training does not improve on the start for " +
			"them, the start is kept.",
		"beam": "Partial encodings kept from level to level when a training step finds codes, where quantizer.beam is above 1 " +
			"(0: as many as that).",
	}
}

// Optimizer is that of all training runs, with decays for parts of the codes.
type Optimizer struct {
	optim.Optimizer `yaml:",inline"`
	MixerDecay      float64 `yaml:"mixer_decay" doc:"The same as weight_decay for the mixer M."`
	ConditionDecay  float64 `yaml:"condition_decay" doc:"The same for networks that codes depend on (transform.levels, transform.context)."`
}

// decays returns the weight decay of parameter groups other than the network.
func (o Optimizer) decays() map[weights.Group]float64 {
	return map[weights.Group]float64{weights.Mixer: o.MixerDecay, weights.Condition: o.ConditionDecay}
}

// ReadConfig reads a stored configuration, as YAML or as JSON (which is YAML
// too). Keys that were added since stand for the behaviour before them.
func ReadConfig(document []byte) (Config, error) {
	spec, err := tokenizer.ReadSpec(document)
	if err != nil {
		return Config{}, err
	}
	c, err := Network(spec.Quantizer.Method)
	if err != nil {
		return c, err
	}
	c.Spec, c.Train.Flat = c.Spec.Earlier(), 0
	if err := config.Decode(document, &c); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// Tokenizer composes the tokenizer of the experiment for items of input numbers.
func (c Config) Tokenizer(input int) (*tokenizer.Tokenizer, error) {
	m, err := tokenizer.New(c.Spec, input)
	if err == nil && vq.Classical(c.Quantizer.Method) && m.Refines() {
		err = fmt.Errorf("model.refine.width: %s is fitted at once and trains no decoder; set it to 0, or use another method", c.Quantizer.Method)
	}
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
	case !(t.Finish >= 0 && t.Finish <= 1):
		return fmt.Errorf("train.finish: %g must be between 0 and 1", t.Finish)
	case c.Model.Refine.Width > 0 && c.Quantizer.Dropout > 0 && t.Finish < 1:
		return fmt.Errorf("quantizer.dropout: vectors of fewer levels are not refined; set it to 0, or model.refine.width to 0")
	case !(t.Split > 0 && t.Split <= 1):
		return fmt.Errorf("train.split: %g must be above 0 and at most 1", t.Split)
	case t.Beam < 0:
		return fmt.Errorf("train.beam: %d must not be negative", t.Beam)
	case !(t.Noise >= 0):
		return fmt.Errorf("train.noise: %g must not be negative", t.Noise)
	case t.Noise > 0 && c.Model.Pictures():
		return fmt.Errorf("train.noise: is for vectors; set it to 0")
	}
	for _, part := range t.Freeze {
		if !slices.Contains([]string{FreezeEncoder, FreezeCodes, FreezeDecoder}, part) {
			return fmt.Errorf("train.freeze: unknown part %q, use encoder, codes or decoder", part)
		}
	}
	if err := t.Adversarial.validate(c.Model.Pictures()); err != nil {
		return err
	}
	if err := c.checkChoice(); err != nil {
		return err
	}
	return c.Model.Validate()
}

// loop returns the settings of the training loop.
func (c Config) loop() train.Config {
	loop := c.Train.Loop
	if c.Train.Perceptual > 0 || c.Train.Adversarial.Weight > 0 || c.Train.Finish > 0 {
		loop.Flat = 0 // the squared error is no judge of these losses, and the decoder has its own part at the end
	}
	return train.Config{Seed: c.Seed, Loop: loop, Optimizer: c.Train.Optimizer.Optimizer}
}
