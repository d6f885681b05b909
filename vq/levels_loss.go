package vq

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
)

// levelLoss is the weighted error of the sum of codes [N,d] after level l, relative to
// the residual [N,d] that the level had to code; nil where there is no such loss.
// Without one at every level codes that depend on earlier ones do not learn to be
// good starts for the next.
func (q *Residual) levelLoss(ctx *Context, l int, z, residual, sum, on *Node) *Node {
	weight := q.config.levelWeight(l)
	if weight == 0 {
		return nil
	}
	loss := MulScalar(ctx.relative(Sub(StopGradient(z), sum), residual), weight)
	if on != nil {
		loss = Mul(loss, on)
	}
	return loss
}

// levelWeight is the weight of the loss after level l; see [Loss].Level.
func (c Config) levelWeight(l int) float64 {
	before := c.Loss.Level
	if before == 0 && c.Transform.Conditional() {
		before = defaultLevelWeight
	}
	if before > 0 && l == c.Levels-1 {
		return 1
	}
	return before
}

const defaultLevelWeight = 0.1

func (c Config) checkLevels(m Method) error {
	switch levels := c.Transform.Levels; {
	case c.Loss.Level > 0 && (m.Classical != nil || m.Implicit || m.Independent):
		return fmt.Errorf("loss.level: codes of %s do not learn by a loss, set it to 0", c.Method)
	case !c.Transform.Conditional():
		return nil
	case !m.Tabled():
		return fmt.Errorf("transform.levels: %s stores no codes that could depend on earlier levels; use none", c.Method)
	case c.Levels == 1 && !m.Concat:
		return fmt.Errorf("transform.levels: one level of %s has no earlier one to depend on; use none, or more levels", c.Method)
	case c.Transform.Context > 0 && c.Levels > 1:
		return fmt.Errorf("transform.context: %s has no phases of %s codes; use 0, or transform.levels: none", c.Method, levels)
	case c.Shared:
		return fmt.Errorf("shared: %s codes of %s need a codebook a level; set it to false", levels, c.Method)
	case c.Loss.Usage > 0:
		return fmt.Errorf("loss.usage: %s has no usage regulariser of %s codes, set it to 0", c.Method, levels)
	case c.Cache.Period > 1 && c.Cache.Gradient == "accumulate":
		return fmt.Errorf("cache.gradient: %s codes of %s learn every step; use live", levels, c.Method)
	}
	return nil
}
