package vq

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/transform"
)

// Validate reports the first setting that cannot work for latents [N,dim].
func (c Config) Validate(dim int) error {
	m, err := MethodNamed(c.Method)
	if err != nil {
		return fmt.Errorf("quantizer.method: %w", err)
	}
	for _, check := range []func() error{
		func() error { return c.checkSize(dim) },
		c.Start.check, c.Average.check, c.Loss.check, c.Cache.check, c.Resets.check, c.Radius.Validate,
		func() error { return c.checkLearning(m, dim) },
		func() error { return c.checkDistance(m) },
		func() error { return c.checkSearch(m) },
		func() error { return c.checkTransform(m, dim) },
		func() error { return c.checkContext(m) },
		func() error { return c.checkLevels(m) },
	} {
		if err := check(); err != nil {
			return fmt.Errorf("quantizer.%w", err)
		}
	}
	if m.Check != nil {
		return m.Check(c, dim)
	}
	return nil
}

// mostPositions is the largest number of codes of a vector or a cell: codes.MaxLevels.
const mostPositions = 4096

func (c Config) checkSize(dim int) error {
	switch {
	case c.Codes < 2:
		return fmt.Errorf("codes: %d is too few, use at least 2", c.Codes)
	case c.Levels < 1:
		return fmt.Errorf("levels: %d is too few, use at least 1", c.Levels)
	case c.Levels > mostPositions || c.Parts > mostPositions/c.Levels:
		return fmt.Errorf("levels: %d times %d parts are more than the %d codes that a file holds of an item; use fewer",
			c.Levels, max(1, c.Parts), mostPositions)
	case c.Parts < 1 || c.Parts > dim:
		return fmt.Errorf("parts: %d must be between 1 and the latent dimension %d", c.Parts, dim)
	case c.Beam < 1:
		return fmt.Errorf("beam: %d is too narrow, use at least 1", c.Beam)
	case c.Dropout < 0 || c.Dropout > 1:
		return fmt.Errorf("dropout: %g must be between 0 and 1", c.Dropout)
	}
	return nil
}

func oneOf(key, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s: unknown value %q, use one of %s", key, value, strings.Join(allowed, ", "))
}

func (s Start) check() error {
	switch {
	case s.Warmup < 0 || s.Warmup >= 1:
		return fmt.Errorf("start.warmup: %g must be at least 0 and below 1", s.Warmup)
	case s.Sample < 0 || s.Noise < 0 || s.Shrink < 0:
		return fmt.Errorf("start: sample, noise and shrink must not be negative")
	}
	return oneOf("start.from", s.From, "rq", "kmeans", "data", "random")
}

func (a Average) check() error {
	switch {
	case a.Decay <= 0 || a.Decay >= 1 || a.Epsilon <= 0:
		return fmt.Errorf("average: need 0 < decay < 1 and epsilon > 0")
	case a.Pull < 0 || a.Pull > 1:
		return fmt.Errorf("average.pull: %g must be between 0 and 1", a.Pull)
	}
	return nil
}

func (w Loss) check() error {
	switch {
	case w.UsageSoftness <= 0:
		return fmt.Errorf("loss.usage_softness: %g must be positive", w.UsageSoftness)
	case min(w.Codebook, w.Commitment, w.Usage, w.UsageThreshold, w.AttentionEntropy, w.Context, w.Level) < 0:
		return fmt.Errorf("loss: weights must not be negative")
	}
	return nil
}

func (c Cache) check() error {
	if c.Period < 1 {
		return fmt.Errorf("cache.period: %d must be at least 1", c.Period)
	}
	return oneOf("cache.gradient", c.Gradient, "live", "accumulate")
}

func (r Resets) check() error {
	switch {
	case r.Every < 0 || r.Threshold < 0 || r.Window < 0:
		return fmt.Errorf("resets: every, threshold and window must not be negative")
	case r.Until < 0 || r.Until > 1:
		return fmt.Errorf("resets.until: %g must be between 0 and 1", r.Until)
	}
	if err := oneOf("resets.rule", cmp.Or(r.Rule, RuleTokens), RuleTokens, RuleBatches); err != nil {
		return err
	}
	return oneOf("resets.donor", cmp.Or(r.Donor, "latents"), "latents", "used")
}

func (m Method) movable(c Config, dim int) bool {
	if m.Level == nil {
		return m.Classical == nil
	}
	_, ok := m.Level(c, dim).(LevelPlacer)
	return ok
}

func (c Config) checkLearning(m Method, dim int) error {
	switch pull := c.Average.Pull > 0; {
	case c.Cache.Period > 1 && !m.Tabled():
		return fmt.Errorf("cache.period: %s has no codebook to reuse between steps, set it to 1", c.Method)
	case c.Learn == "ema" && !m.Tabled():
		return fmt.Errorf("learn: codes of %s do not learn by ema, use %s", c.Method, m.Config().Learn)
	case c.Resets.Every > 0 && !m.movable(c, dim):
		return fmt.Errorf("resets.every: codes of %s cannot be moved, set it to 0", c.Method)
	case pull && !m.Tabled():
		return fmt.Errorf("average.pull: %s has no codes that follow the latents assigned to them; set it to 0", c.Method)
	case pull && c.Learn != "gradient":
		return fmt.Errorf("average.pull: is for codes that learn by gradient; with learn: %s set it to 0", c.Learn)
	case c.Learn == "frozen" && c.Transform.Attends() && c.Resets.Every > 0:
		return fmt.Errorf("resets.every: frozen codes under attention cannot be moved; set it to 0")
	case c.Cache.Period > 1 && c.Cache.Gradient == "accumulate" && c.Loss.AttentionEntropy > 0:
		return fmt.Errorf("loss.attention_entropy: its gradient would be lost between refreshes; use cache.gradient: live")
	case c.Shared && c.Levels > 1 && (c.Learn == "ema" || pull):
		return fmt.Errorf("shared: running averages need a codebook a level; use learn: gradient and no average.pull")
	}
	return oneOf("learn", c.Learn, "gradient", "ema", "frozen")
}

func (c Config) checkDistance(m Method) error {
	switch cosine := c.Distance == Cosine; {
	case cosine && !m.Tabled():
		return fmt.Errorf("distance: %s stores no codes that could be compared by cosine; use euclidean", c.Method)
	case cosine && c.Levels > 1:
		return fmt.Errorf("distance: residuals of the first level of %s are not on the sphere; use cosine with one level", c.Method)
	case cosine && c.Transform.RowNorm == transform.RowNormGain:
		return fmt.Errorf("transform.row_norm: cosine has unit codes without a gain; use none or latent with %s", c.Method)
	}
	return oneOf("distance", cmp.Or(c.Distance, Euclidean), Euclidean, Cosine)
}

func (c Config) checkSearch(m Method) error {
	if c.Search == Local {
		if err := c.exchangeable(m); err != nil {
			return err
		}
	}
	return oneOf("search", cmp.Or(c.Search, Beam), Beam, Local)
}

// Exchangeable says whether a local search over several levels is possible: codes are summands of a vector and nothing else.
func (c Config) Exchangeable() bool { return c.Levels > 1 && c.exchangeable(methods[c.Method]) == nil }

func (c Config) exchangeable(m Method) error {
	switch {
	case !m.Tabled() && m.Name != LSQ.Name:
		return fmt.Errorf("search: %s has no codes of levels that could be exchanged; use beam", c.Method)
	case c.Transform.Conditional() || c.Transform.Context > 0:
		return fmt.Errorf("search: codes that depend on others cannot be exchanged one by one; use beam with %s", c.Method)
	case c.Normalized():
		return fmt.Errorf("search: a local search compares by Euclidean distance; use beam with %s", c.Method)
	case m.Tabled() && !index.TablesFit(c.Codes, c.Levels):
		return fmt.Errorf("search: a local search keeps the products of all pairs of codes, too many for %d levels of %d; use beam",
			c.Levels, c.Codes)
	}
	return nil
}

func (c Config) checkTransform(m Method, dim int) error {
	if c.Transform.RowNorm == transform.RowNormLatent && c.Levels > 1 {
		return fmt.Errorf("transform.row_norm: residual levels need a gain each; use row_norm: gain")
	}
	if !m.Transforms && !c.Transform.IsNone() {
		return fmt.Errorf("transform.kind: %s has no transform; use method grit", c.Method)
	}
	for part := range c.Parts {
		start, end := Layout{Dim: dim, Parts: c.Parts}.Bounds(part)
		if err := c.Transform.Validate(c.Codes, end-start); err != nil {
			return fmt.Errorf("transform.%w", err)
		}
	}
	return nil
}

// checkContext refuses phases where there is no grid and for methods that do not take
// the nearest of stored codes.
func (c Config) checkContext(m Method) error {
	switch context := c.Transform.Context; {
	case context == 0:
	case c.Side == 0:
		return fmt.Errorf("transform.context: only cells of pictures have neighbours that were sent before; set it to 0 for vectors with %s",
			c.Method)
	case c.Side < 2:
		return fmt.Errorf("transform.context: a picture of one cell has no %d phases; set it to 0 with %s, or use larger pictures",
			context, c.Method)
	case !m.Tabled() && !m.Scales:
		return fmt.Errorf("transform.context: codes of %s are not found by nearest search in a stored codebook; set it to 0", c.Method)
	case c.Transform.Conditional():
		return fmt.Errorf("transform.levels: codes of %s depend on earlier cells under transform.context; use levels none, or context 0",
			c.Method)
	case c.Distance == Cosine:
		return fmt.Errorf("transform.context: codes on the unit sphere cannot be shifted; use distance euclidean with %s", c.Method)
	}
	return nil
}
