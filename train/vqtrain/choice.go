package vqtrain

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/internal/seal"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/transform"
	"github.com/gritvq/gritvq/vq"
)

// rules give the values of settings that the data choose, the likeliest first, for
// training rows and the error of the start on validation rows; none for settings that
// mean nothing to the configuration. They were found on embeddings of items and patches
// of pictures, 3,000 to 260,000 rows.
var rules = map[string]func(c Config, rows int, start float64) []string{
	// Starts, not trials: which classical codes have less error. See [fit.measureStarts].
	searchKey: func(c Config, _ int, _ float64) []string {
		if q := c.Quantizer; !q.StartsClassical() || !q.Exchangeable() {
			return nil
		}
		return []string{vq.Beam, vq.Local}
	},
	// Recipes: the decoder alone learns to refine the codes of the best start, or codes learn. See [fit.recipes].
	// Codes that learn improved on the start only where rows were few; with 3,000 to 250,000 rows the decoder did better, in a third
	// of the time.
	finishKey: func(c Config, rows int, _ float64) []string {
		q, chooses := c.Quantizer, slices.Contains(c.Train.Choose, "model.refine.width")
		switch {
		case !q.StartsClassical() || q.Levels*q.Parts == 1 || c.Model.Dim > 0 || len(c.Model.Hidden) > 0:
			return nil
		case q.Transform.Conditional() || q.Dropout > 0 || c.Model.Refine.Width == 0 && !chooses: // asks for codes that learn
			return nil
		}
		if rows >= fewRows {
			return []string{"1"}
		}
		return []string{"1", "0"}
	},
	"model.refine.width": func(c Config, _ int, _ float64) []string { return refining(c, "1024") },
	"model.refine.drop": func(c Config, rows int, _ float64) []string {
		return refining(c, number(min(0.5, 60/math.Sqrt(float64(rows)))))
	},
	"train.optimizer.rate": func(c Config, _ int, _ float64) []string { return refining(c, "0.002") },
	"train.steps": func(c Config, rows int, _ float64) []string {
		switch {
		case rows < fewRows:
			return []string{"300"}
		case rows < manyRows:
			return []string{"800"}
		case c.Train.Finish < 1:
			return []string{"1000"}
		case rows < 5*manyRows:
			return []string{"1500"}
		}
		return []string{"3000"}
	},
	// Noise as large as a share of what the start leaves over keeps few rows from being
	// learned by heart.
	"train.noise": func(c Config, rows int, start float64) []string {
		if c.Train.Finish == 1 {
			return nil
		}
		noise := min(1, 10/math.Sqrt(rowsPerCode(c, rows))) * math.Sqrt(min(1, start))
		return []string{number(noise), number(noise / 2)}
	},
	"train.rates.codes": func(c Config, rows int, _ float64) []string {
		switch {
		case c.Train.Finish == 1:
			return nil
		case rowsPerCode(c, rows) < 24:
			return []string{"0.1"}
		}
		return []string{"0.3"}
	},
	// With fewer rows affine conditions do better in the time. On 34,000 item embeddings
	// and 260,000 patches implicit ones had 1 and 2 % less error on validation rows.
	"quantizer.transform.levels": func(c Config, rows int, _ float64) []string {
		if rows < manyRows {
			return later(c, transform.LevelsAffine)
		}
		return later(c, transform.LevelsImplicit)
	},
	"quantizer.transform.hidden": func(c Config, rows int, _ float64) []string {
		switch {
		case rows < 6000:
			return later(c, "32")
		case rows < manyRows:
			return later(c, "64")
		}
		return later(c, "128")
	},
	"quantizer.transform.hidden_drop": func(c Config, rows int, _ float64) []string {
		return later(c, number(min(0.5, 2.2/math.Sqrt(rowsPerCode(c, rows)))))
	},
}

const (
	searchKey = "quantizer.search"
	finishKey = "train.finish"
)

const (
	fewRows  = 3000  // learn from noise on them
	manyRows = 20000 // are enough for wide networks
)

// later are values that only codes of later levels have a use for.
func later(c Config, values ...string) []string {
	if q := c.Quantizer; q.Levels == 1 || q.Shared || q.Search == vq.Local || c.Train.Finish == 1 {
		return nil
	}
	return values
}

// refining are values that only a decoder that learns alone has a use for.
func refining(c Config, values ...string) []string {
	if c.Train.Finish < 1 {
		return nil
	}
	return values
}

func rowsPerCode(c Config, rows int) float64 { return max(1, float64(rows)/float64(c.Quantizer.Codes)) }

// number writes a setting with three digits.
func number(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }

// Choosable lists the settings that train.choose may name.
func Choosable() []string { return slices.Sorted(maps.Keys(rules)) }

func (c Config) checkChoice() error {
	for i, key := range c.Train.Choose {
		if rules[key] == nil {
			return fmt.Errorf("train.choose: validation rows cannot choose %q, only %s", key, strings.Join(Choosable(), ", "))
		}
		if slices.Contains(c.Train.Choose[:i], key) {
			return fmt.Errorf("train.choose: %s is named twice", key)
		}
	}
	switch v := c.Train.Validation; {
	case len(c.Train.Choose) > 0 && c.Model.Pictures():
		return fmt.Errorf("train.choose: settings of pictures are not chosen; leave it empty")
	case !(v >= 0 && v <= 0.5) || len(c.Train.Choose) > 0 && v == 0:
		return fmt.Errorf("train.validation: %g must be above 0 and at most 0.5 (0 only if nothing is judged)", v)
	}
	return nil
}

// with returns the configuration with assignments. A short run has a short warm-up.
func (c Config) with(settings []string) (Config, error) {
	for _, assignment := range settings {
		if err := config.Set(&c, assignment); err != nil {
			return c, fmt.Errorf("choosing %s: %w", assignment, err)
		}
	}
	c.Train.Schedule.Warmup = warmupOf(c, c.Train.Steps)
	return c, c.Validate()
}

// warmupOf is the warm-up of a run of so many steps.
func warmupOf(c Config, steps int) int { return min(c.Train.Schedule.Warmup, max(1, steps/10)) }

// Unchosen returns a finished run's configuration with the settings that it chose as
// they were in the configuration it began with.
func (c Config) Unchosen(before Config) (Config, error) {
	c.Train.KeepStart = before.Train.KeepStart
	if w := &c.Train.Schedule.Warmup; *w == warmupOf(before, c.Train.Steps) {
		*w = before.Train.Schedule.Warmup
	}
	for _, key := range c.Train.Choose {
		value, err := config.Get(before, key)
		if err == nil {
			err = config.Set(&c, key+"="+value)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// ChoiceFile keeps the choices of an unfinished run inside its directory of trials, and earlierChoices what it was before
// the last change, in case it is damaged.
const (
	ChoiceFile     = "choice.json"
	earlierChoices = "choice-1.json"
)

// choices is the state of a run between its parts.
type choices struct {
	Identity  string               `json:"identity"`
	Data      string               `json:"data"`
	Reference *tokenizer.Reference `json:"reference,omitempty"`
	Choice    tokenizer.Choice     `json:"choice"`
	Done      bool                 `json:"done"` // all is chosen
}

// loadChoices reads the state of an unfinished run, or begins one. damaged explains why an earlier state was read.
func loadChoices(dir string, resume bool, begin choices) (c *choices, damaged, err error) {
	if !resume {
		if err := os.RemoveAll(dir); err != nil {
			return nil, nil, fmt.Errorf("removing old trials: %w", err)
		}
	}
	for _, name := range []string{ChoiceFile, earlierChoices} {
		path, read := filepath.Join(dir, name), choices{}
		err := seal.ReadFile(path, &read)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			damaged = cmp.Or(damaged, fmt.Errorf("the choices cannot be resumed: %w", err))
		case read.Identity != begin.Identity:
			err := fmt.Errorf("%s was made with other settings; repeat the command as it was, or start afresh in another directory", path)
			return nil, nil, &train.UnusableError{Err: err}
		case read.Data != begin.Data:
			err := fmt.Errorf("%s was made from other data; give the same data, or start afresh in another directory", path)
			return nil, nil, &train.UnusableError{Err: err}
		default:
			return &read, damaged, nil
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("making a directory for trials: %w", err)
	}
	return &begin, damaged, nil
}

// save keeps the state before as well.
func (c *choices) save(dir string) error {
	path := filepath.Join(dir, ChoiceFile)
	var before choices
	if seal.ReadFile(path, &before) == nil {
		if err := seal.WriteFile(filepath.Join(dir, earlierChoices), before); err != nil {
			return err
		}
	}
	return seal.WriteFile(path, c)
}
