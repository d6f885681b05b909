package tokenize

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// Settings assemble a configuration in layers: preset of the method, file, flags, single assignments.
type Settings struct {
	Preset   string                      // one of vqtrain.Presets
	Base     *vqtrain.Config             // takes the place of the preset; may be nil
	Pictures bool                        // start from the preset for pictures
	Network  bool                        // start from the preset of networks around the quantizer, even if a layer removes the network
	Defaults func(*vqtrain.Config)       // changes the preset; may be nil
	File     string                      // YAML; may be empty
	Flags    func(*vqtrain.Config) error // flags of a command line; may be nil
	Sets     []string                    // assignments such as "quantizer.codes=64"
	Steps    bool                        // Flags set the number of steps, maybe to the preset's
	Final    func(*vqtrain.Config)       // changes the result; may be nil
}

// Config assembles the configuration. Every error is a usage error.
func (s Settings) Config() (vqtrain.Config, error) {
	// The method selects the preset, and any layer may name it.
	layered, err := s.Layered("grit")
	if err != nil {
		return vqtrain.Config{}, err
	}
	return s.ConfigOf(layered.Quantizer.Method)
}

// preset is the configuration that layers change: the given one, or that of pictures, of a network around the quantizer if any layer
// has one,
// or of the vectors themselves.
func (s Settings) preset(method string) (vqtrain.Config, error) {
	switch {
	case s.Base != nil:
		return *s.Base, nil
	case s.Pictures:
		return vqtrain.Pictures(s.Preset, method)
	case s.Network:
		return vqtrain.Networks(s.Preset, method)
	}
	c, err := vqtrain.Preset(s.Preset, method)
	if err != nil {
		return c, err
	}
	if layered, err := s.layer(c); err == nil && (len(layered.Model.Hidden) > 0 || layered.Model.Dim > 0) && !vq.Classical(method) {
		return vqtrain.Networks(s.Preset, method)
	}
	return c, nil // an error comes up again
}

// ConfigOf assembles the configuration of a method.
func (s Settings) ConfigOf(method string) (vqtrain.Config, error) {
	c, err := s.Layered(method)
	if err != nil {
		return vqtrain.Config{}, err
	}
	if s.Final != nil {
		s.Final(&c)
	}
	base, err := s.preset(method)
	if err != nil {
		return vqtrain.Config{}, usage.Error{Err: err}
	}
	FitToSize(&c, base, s.Sets)
	if err := c.Validate(); err != nil {
		return vqtrain.Config{}, usage.Error{Err: err}
	}
	return c, nil
}

func (s Settings) document() ([]byte, error) {
	if s.File == "" {
		return nil, nil
	}
	document, err := memory.ReadFile(s.File)
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return nil, usage.Errorf("cannot read the configuration %s: %w", s.File, err)
	}
	return document, nil
}

// Layered applies file, flags and assignments to the preset of a method, neither fitted to its size nor validated.
func (s Settings) Layered(method string) (vqtrain.Config, error) {
	c, err := s.preset(method)
	if err != nil {
		return c, usage.Error{Err: err}
	}
	return s.layer(c)
}

func (s Settings) layer(c vqtrain.Config) (vqtrain.Config, error) {
	document, err := s.document()
	if err != nil {
		return c, err
	}
	if s.Defaults != nil {
		s.Defaults(&c)
	}
	if document != nil {
		if err := config.Decode(document, &c); err != nil {
			return c, usage.Errorf("%s: %w", s.File, err)
		}
	}
	before := c
	if s.Flags != nil {
		if err := s.Flags(&c); err != nil {
			return c, err
		}
	}
	// What is given is not chosen, unless the same layer or a later one says what is.
	listed := document != nil && config.Mentions(document, "train.choose")
	given := func(key string) bool {
		was, _ := config.Get(before, key)
		is, _ := config.Get(c, key)
		return was != is || key == "train.steps" && s.Steps || config.Assigns(s.Sets, key) ||
			document != nil && !listed && config.Mentions(document, key)
	}
	c.Train.Choose = slices.DeleteFunc(slices.Clone(c.Train.Choose), given)
	for _, assignment := range s.Sets {
		if err := config.Set(&c, assignment); err != nil {
			return c, usage.Errorf("--set %s: %w", assignment, err)
		}
	}
	if _, err := vqtrain.Preset(s.Preset, c.Quantizer.Method); err != nil {
		return c, usage.Error{Err: err}
	}
	return c, nil
}

// UnsuitedError reports settings that do not work for a method.
type UnsuitedError struct {
	Method string
	Err    error
}

func (e *UnsuitedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UnsuitedError) Unwrap() error { return e.Err }

// Explain adds to an [UnsuitedError], if a file has settings of another method, how to get a file for this one.
func (s Settings) Explain(err error) error {
	unsuited, ok := errors.AsType[*UnsuitedError](err)
	if !ok {
		return err
	}
	document, unread := s.document()
	var file vqtrain.Config
	if unread != nil || document == nil || config.Decode(document, &file) != nil || file.Quantizer.Method == unsuited.Method {
		return err
	}
	return usage.Errorf("%s: %w, or settings from: gritvq config --method %s", s.File, unsuited.Err, unsuited.Method)
}

// FitToSize lowers transform ranks, warm-up and the periods of evaluation and log that are too large for a small codebook
// or a short run. Settings that differ from the preset or that sets assign stay.
func FitToSize(c *vqtrain.Config, preset vqtrain.Config, sets []string) {
	lower := func(key string, value *int, preset, most int) {
		if *value == preset && !config.Assigns(sets, key) {
			*value = min(*value, max(1, most))
		}
	}
	codes, steps := c.Quantizer.Codes, c.Train.Steps
	transform, base := &c.Quantizer.Transform, preset.Quantizer.Transform
	lower("quantizer.transform.rank", &transform.Rank, base.Rank, codes)
	lower("quantizer.transform.topk", &transform.TopK, base.TopK, codes)
	lower("quantizer.transform.groups", &transform.Groups, base.Groups, codes)
	lower("train.schedule.warmup", &c.Train.Schedule.Warmup, preset.Train.Schedule.Warmup, steps/10)
	lower("train.evaluate", &c.Train.Evaluate, preset.Train.Evaluate, steps/6)
	lower("train.log", &c.Train.Log, preset.Train.Log, steps/40)
}
