package transform

import "fmt"

// Values of [Config].Levels: how the codes of a level after the first depend on x̂,
// the sum of the vectors that the levels before it have sent.
const (
	LevelsNone     = "none"     // not at all
	LevelsAffine   = "affine"   // mu(x̂) + s(x̂)·c, elementwise
	LevelsImplicit = "implicit" // c + U relu(P c + Q x̂ + b)
)

// Conditional says whether codes depend on the vectors sent by earlier levels.
func (c Config) Conditional() bool { return c.Levels == LevelsAffine || c.Levels == LevelsImplicit }

func (c Config) checkLevels() error {
	switch c.Levels {
	case "", LevelsNone:
		return nil
	case LevelsAffine, LevelsImplicit:
	default:
		return fmt.Errorf("levels: unknown value %q, use one of none, affine, implicit", c.Levels)
	}
	if !(c.HiddenDrop >= 0 && c.HiddenDrop < 1) {
		return fmt.Errorf("hidden_drop: %g must be at least 0 and below 1", c.HiddenDrop)
	}
	for _, size := range []struct {
		key   string
		value int
	}{{"hidden", c.Hidden}, {"blocks", c.Blocks}, {"candidates", c.Candidates}} {
		if size.value < 1 {
			return fmt.Errorf("%s: %d is too few for levels: %s, use at least 1", size.key, size.value, c.Levels)
		}
	}
	return nil
}
