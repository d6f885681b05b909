package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// setting is a flag that changes a key of the configuration.
type setting struct {
	name     string
	key      string
	value    any // default that --help shows
	usage    string
	either   string                                                   // usage for vectors and pictures, with both defaults
	pictures bool                                                     // only for pictures
	apply    func(s *Settings, c *vqtrain.Config, value string) error // instead of assigning the value to the key
}

// settings in their order of application.
var settings = []setting{
	{name: "method", key: "quantizer.method", value: "grit", usage: "quantizer, see: gritvq methods", apply: applyMethod},
	{name: "codes", key: "quantizer.codes", value: 256, usage: "codes per level", either: "codes per level (default 256, pictures: 16384)"},
	{name: "levels", key: "quantizer.levels", value: 4, usage: "residual levels, each coding the residual of the ones before",
		either: "residual levels, each coding the residual of the ones before (default 4, pictures: 1)"},
	{name: "parts", key: "quantizer.parts", value: 1, usage: "slices of the vector quantized side by side"},
	{name: "hidden", value: "512,256,128", usage: "widths of the hidden layers, or none to quantize the vectors themselves",
		either: "vectors: widths of the hidden layers of a network, or none to quantize the vectors themselves\n" +
			"(default none, or 512,256,128 if --dim is given)", apply: applyHidden},
	{name: "dim", key: "model.dim", value: 32, usage: "dimension of the latents (0: same as the vectors)",
		either: "dimension of the latents (default that of the vectors, or 32 if --hidden is given; pictures: 256)"},
	{name: "steps", key: "train.steps", value: 0, usage: "training steps (default by the number of rows, or from the preset)"},
	{name: "batch", key: "train.batch", value: 1024, usage: "vectors a step",
		either: "vectors or pictures a step (default 1024, pictures: 64)"},
	{name: "split", key: "train.split", value: 0.9, usage: "share of the rows to train on; the rest is held out"},
	{name: "seed", key: "seed", value: uint64(1), usage: "decides initial weights, the split and the order of the data"},
	{name: "size", key: "model.image.size", value: 256, pictures: true, usage: "pictures: side of the square crop, the network's input"},
	{name: "short", key: "model.image.short", value: 0, pictures: true,
		usage: "pictures: length of the short side after scaling, before the crop: larger values keep more\n" +
			"detail of large photos (default 286 for --size 256, other sizes in proportion)"},
	{name: "width", key: "model.image.widths", value: "64,128,128,256,256", pictures: true, usage: "pictures: channels at every resolution"},
	{name: "down", value: 16, pictures: true, usage: "pictures: side of a code's cell in pixels", apply: applyDown},
	{name: "precision", key: "model.image.precision", value: "f32", pictures: true,
		usage: "pictures: arithmetic of the convolutions, f32 or bf16 (bf16 with XLA; the embedded engine computes in f32)"},
	{name: "perceptual", key: "train.perceptual", value: 0.0, pictures: true,
		usage: "pictures: weight of the perceptual loss (default 0.1 if --metrics has a network, else 0)"},
	{name: "adversarial", key: "train.adversarial.weight", value: 0.0, pictures: true,
		usage: "pictures: weight of a discriminator's loss beside the others, such as 0.8 (default 0: none)"},
}

// Settings are the flags that configure a tokenizer.
type Settings struct {
	flags  *pflag.FlagSet
	preset string
	file   string
	sets   []string
}

// AddFlags adds the flags of a command that trains one method; pictures adds the flags for pictures.
func (s *Settings) AddFlags(cmd *cobra.Command, pictures bool) { s.add(cmd, pictures, true) }

// AddSharedFlags adds the flags that do not depend on the method.
func (s *Settings) AddSharedFlags(cmd *cobra.Command) { s.add(cmd, true, false) }

func (s *Settings) add(cmd *cobra.Command, pictures, method bool) {
	f := cmd.Flags()
	s.flags = f
	f.StringVar(&s.preset, "preset", "default",
		"default (best on real data), paper (literally as published) or\npaper-b (grit: the paper's joint protocol)")
	f.StringVar(&s.file, "config", "", "YAML file of settings, as gritvq config prints it")
	f.StringArrayVar(&s.sets, "set", nil, "one setting, such as quantizer.dropout=0.1 (repeatable)")
	for _, v := range settings {
		if v.pictures && !pictures || v.name == "method" && !method {
			continue
		}
		switch value := v.value.(type) {
		case int:
			f.Int(v.name, value, v.usage)
		case uint64:
			f.Uint64(v.name, value, v.usage)
		case float64:
			f.Float64(v.name, value, v.usage)
		case string:
			f.String(v.name, value, v.usage)
		}
		if pictures && v.either != "" { // the usage says the defaults
			flag := f.Lookup(v.name)
			flag.Usage, flag.DefValue = v.either, ""
			if _, number := v.value.(int); number {
				flag.DefValue = "0"
			}
		}
	}
}

// Layers returns the layers of the configuration for vectors or pictures.
func (s *Settings) Layers(pictures bool) tokenize.Settings {
	for _, v := range settings {
		pictures = pictures || v.pictures && s.Given(v.name)
	}
	return tokenize.Settings{Preset: s.preset, Pictures: pictures, File: s.file, Flags: s.apply, Steps: s.Given("steps"), Sets: s.sets}
}

// Given says whether a flag was given.
func (s *Settings) Given(name string) bool { return s.flags.Changed(name) }

// Text is the value of a flag of text.
func (s *Settings) Text(name string) string { return s.flags.Lookup(name).Value.String() }

// Int is the value of a flag of whole numbers.
func (s *Settings) Int(name string) int {
	n, err := s.flags.GetInt(name)
	if err != nil {
		panic(err)
	}
	return n
}

// FixedPerceptual says whether the weight of the perceptual loss was chosen.
func (s *Settings) FixedPerceptual() bool {
	return s.Given("perceptual") || config.Assigns(s.sets, "train.perceptual")
}

func (s *Settings) apply(c *vqtrain.Config) error {
	for _, v := range settings {
		if !s.Given(v.name) {
			continue
		}
		assign := v.assign
		if v.apply != nil {
			assign = v.apply
		}
		if err := assign(s, c, s.Text(v.name)); err != nil {
			return err
		}
	}
	return nil
}

func (v setting) assign(_ *Settings, c *vqtrain.Config, value string) error {
	if err := config.Set(c, v.key+"="+value); err != nil {
		return usage.Errorf("--%s %s: %w", v.name, value, err)
	}
	return nil
}

// applyMethod leaves it to the presets to refuse unknown methods.
func applyMethod(_ *Settings, c *vqtrain.Config, value string) error {
	c.Quantizer.Method = value
	return nil
}

// applyHidden sets the hidden layers; without any, latents have the dimension of the vectors.
func applyHidden(_ *Settings, c *vqtrain.Config, value string) error {
	if value == "none" || value == "" {
		c.Model.Hidden, c.Model.Dim = nil, 0
		return nil
	}
	if err := config.Set(c, "model.hidden="+value); err != nil {
		return usage.Errorf("--hidden %s: %w; write widths such as 512,256, or none", value, err)
	}
	return nil
}

// applyDown sets the side of a cell and fits the widths to it, unless they were given.
func applyDown(s *Settings, c *vqtrain.Config, _ string) error {
	image, down := &c.Model.Image, s.Int("down")
	if down < 1 {
		return usage.Errorf("--down %d must be at least 1", down)
	}
	widths := len(image.Widths)
	image.SetDown(down)
	if s.Given("width") && len(image.Widths) != widths {
		return usage.Errorf("--down %d needs %d widths, --width has %d", down, len(image.Widths), widths)
	}
	return nil
}
