package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/tokenizer"

	"github.com/spf13/pflag"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// settings are the flags of train, config and compare that make a configuration.
type settings struct {
	flags *pflag.FlagSet
	// defaults, if not nil, changes the preset before anything else does.
	defaults func(*vqtrain.Config)
	// finish, if not nil, changes what all layers made.
	finish   func(*vqtrain.Config)
	preset   string
	file     string
	method   string
	codes    int
	levels   int
	parts    int
	dim      int
	hidden   string
	steps    int
	batch    int
	split    float64
	seed     uint64
	sets     []string
	picture  pictureFlags
	pictures bool // the input is pictures
}

func (o *settings) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.method, "method", "grit", "quantizer, see: gritvq methods")
	o.addSharedFlags(f)
}

// addSharedFlags adds the flags that do not depend on the method.
func (o *settings) addSharedFlags(f *pflag.FlagSet) {
	f.IntVar(&o.codes, "codes", 256, "codes per level")
	f.IntVar(&o.levels, "levels", 4, "residual levels, each coding what the ones before left over")
	f.IntVar(&o.parts, "parts", 1, "slices of the vector quantized side by side")
	f.IntVar(&o.dim, "dim", 32, "dimension of the latents (0: that of the vectors)")
	f.StringVar(&o.hidden, "hidden", "512,256,128", "widths of the hidden layers, or none to quantize the vectors themselves")
	f.IntVar(&o.steps, "steps", 0, "training steps (default from the preset)")
	f.IntVar(&o.batch, "batch", 1024, "vectors a step")
	f.Float64Var(&o.split, "split", 0.9, "share of the rows to train on; the rest is held out")
	f.Uint64Var(&o.seed, "seed", 1, "decides initial weights, the split and the order of the data")
	f.StringVar(&o.preset, "preset", "default", "default (does best on real data) or paper (the paper's letter)")
	f.StringVar(&o.file, "config", "", "YAML file of settings, as gritvq config prints it")
	f.StringArrayVar(&o.sets, "set", nil, "one setting, such as quantizer.dropout=0.1 (repeatable)")
}

// config assembles the configuration: preset < file < flags < --set. Every
// error is one of usage.
func (o *settings) config() (vqtrain.Config, error) {
	document, err := o.document()
	if err != nil {
		return vqtrain.Config{}, err
	}
	// The method decides the preset's values, and any layer may name it.
	layered, err := o.layer("grit", document)
	if err != nil {
		return vqtrain.Config{}, err
	}
	return o.configOf(layered.Quantizer.Method, document, o.finish)
}

// document reads the configuration file, if there is one.
func (o *settings) document() ([]byte, error) {
	if o.file == "" {
		return nil, nil
	}
	document, err := os.ReadFile(o.file)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return nil, usage.Errorf("cannot read the configuration %s: %w", o.file, err)
	}
	return document, nil
}

// configOf assembles the configuration of a method; finish, if not nil, has the
// last word.
func (o *settings) configOf(method string, document []byte, finish func(*vqtrain.Config)) (vqtrain.Config, error) {
	layered, err := o.layer(method, document)
	if err != nil {
		return vqtrain.Config{}, err
	}
	if finish != nil {
		finish(&layered)
	}
	base, err := vqtrain.Preset(o.preset, method)
	if err != nil {
		return vqtrain.Config{}, usage.Error{Err: err}
	}
	fitToSize(&layered, base, o.sets)
	if err := layered.Validate(); err != nil {
		return vqtrain.Config{}, usage.Error{Err: err}
	}
	return layered, nil
}

// unsuited makes err, by which the settings of a method do not work, one of
// usage. Where they come from a file for another method, it says how to get a
// file for this one.
func (o *settings) unsuited(method string, err error) error {
	document, unread := o.document()
	if unread != nil || document == nil {
		return usage.Error{Err: err}
	}
	var file vqtrain.Config
	if config.Decode(document, &file) != nil || file.Quantizer.Method == method {
		return usage.Error{Err: err}
	}
	return usage.Errorf("%s: %w, or settings from: gritvq config --method %s", o.file, err, method)
}

// layer applies file, flags and --set to the preset of a method.
func (o *settings) layer(method string, document []byte) (vqtrain.Config, error) {
	preset := vqtrain.Preset
	if o.forPictures() {
		preset = vqtrain.Pictures
	}
	c, err := preset(o.preset, method)
	if err != nil {
		return c, usage.Error{Err: err}
	}
	if o.defaults != nil {
		o.defaults(&c)
	}
	if document != nil {
		if err := config.Decode(document, &c); err != nil {
			return c, usage.Errorf("%s: %w", o.file, err)
		}
	}
	if err := o.applyFlags(&c); err != nil {
		return c, err
	}
	for _, assignment := range o.sets {
		if err := config.Set(&c, assignment); err != nil {
			return c, usage.Errorf("--set %s: %w", assignment, err)
		}
	}
	if _, err := vqtrain.Preset(o.preset, c.Quantizer.Method); err != nil {
		return c, usage.Error{Err: err}
	}
	return c, nil
}

// applyFlags copies the flags that were given.
func (o *settings) applyFlags(c *vqtrain.Config) error {
	given := o.flags.Changed
	for name, apply := range map[string]func(){
		"method": func() { c.Quantizer.Method = o.method },
		"codes":  func() { c.Quantizer.Codes = o.codes },
		"levels": func() { c.Quantizer.Levels = o.levels },
		"parts":  func() { c.Quantizer.Parts = o.parts },
		"steps":  func() { c.Train.Steps = o.steps },
		"batch":  func() { c.Train.Batch = o.batch },
		"split":  func() { c.Train.Split = o.split },
		"seed":   func() { c.Seed = o.seed },
	} {
		if given(name) {
			apply()
		}
	}
	if given("hidden") {
		widths, err := parseWidths(o.hidden)
		if err != nil {
			return err
		}
		c.Model.Hidden = widths
		if widths == nil {
			c.Model.Dim = 0
		}
	}
	if given("dim") {
		c.Model.Dim = o.dim
	}
	return o.applyPictureFlags(c)
}

// parseWidths reads "512,256" or "none".
func parseWidths(text string) ([]int, error) {
	if text == "none" || text == "" {
		return nil, nil
	}
	var widths []int
	for _, field := range strings.Split(text, ",") {
		w, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || w < 1 {
			return nil, usage.Errorf("--hidden %s: %q is no width; write numbers such as 512,256 or none", text, field)
		}
		widths = append(widths, w)
	}
	return widths, nil
}

// fitToSize lowers what a small codebook or a short run leaves no room for (the
// transform's ranks, the rate's warm-up, the periods of evaluation and log),
// where the preset's values were left alone. What sets name stays as it is.
func fitToSize(c *vqtrain.Config, base vqtrain.Config, sets []string) {
	lower := func(key string, value *int, preset, most int) {
		if *value == preset && !named(sets, key) {
			*value = min(*value, max(1, most))
		}
	}
	codes, steps := c.Quantizer.Codes, c.Train.Steps
	mix, preset := &c.Quantizer.Transform, base.Quantizer.Transform
	lower("quantizer.transform.rank", &mix.Rank, preset.Rank, codes)
	lower("quantizer.transform.topk", &mix.TopK, preset.TopK, codes)
	lower("quantizer.transform.groups", &mix.Groups, preset.Groups, codes)
	lower("train.schedule.warmup", &c.Train.Schedule.Warmup, base.Train.Schedule.Warmup, steps/10)
	lower("train.evaluate", &c.Train.Evaluate, base.Train.Evaluate, steps/6)
	lower("train.log", &c.Train.Log, base.Train.Log, steps/40)
}

// named says whether one of the assignments of --set is to a key, or to a section
// that it is in.
func named(sets []string, key string) bool {
	return slices.ContainsFunc(sets, func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		name = strings.TrimSpace(name)
		return name == key || strings.HasPrefix(key, name+".")
	})
}

// join writes widths as 64-128-256.
func join(widths []int) string {
	text := make([]string, len(widths))
	for i, w := range widths {
		text[i] = strconv.Itoa(w)
	}
	return strings.Join(text, "-")
}

// describeModel says in a line what a configuration builds for items of input
// numbers.
func describeModel(c tokenizer.Spec, input int) string {
	q := c.Quantizer
	text := fmt.Sprintf("%s, %d levels x %d codes", q.Method, q.Levels, q.Codes)
	if q.Levels == 1 {
		text = fmt.Sprintf("%s, %d codes", q.Method, q.Codes)
	}
	if q.Parts > 1 {
		text += fmt.Sprintf(" x %d parts", q.Parts)
	}
	dim := c.Model.Dim
	if dim == 0 {
		dim = input
	}
	if image := c.Model.Image; c.Model.Pictures() {
		return text + fmt.Sprintf(", %d px pictures to %d x %d codes, network %s to %d", image.Size, image.Grid(), image.Grid(), join(image.Widths), dim)
	}
	widths := []string{strconv.Itoa(input)}
	for _, w := range c.Model.Hidden {
		widths = append(widths, strconv.Itoa(w))
	}
	if len(c.Model.Hidden) == 0 && dim == input {
		return text + fmt.Sprintf(" on the %d-d vectors themselves", input)
	}
	return text + ", network " + strings.Join(append(widths, strconv.Itoa(dim)), "-")
}
