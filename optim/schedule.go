package optim

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Schedule shapes the learning rate.
type Schedule struct {
	Kind   string  `yaml:"kind" enum:"constant|cosine|inverse-sqrt" doc:"Shape after the warm-up."`
	Warmup int     `yaml:"warmup" doc:"Steps of linear warm-up."`
	Floor  float64 `yaml:"floor" doc:"Cosine: final share of the rate."`
}

// Validate reports a setting that cannot work.
func (s Schedule) Validate() error {
	if kinds := []string{"constant", "cosine", "inverse-sqrt"}; !slices.Contains(kinds, s.Kind) {
		return fmt.Errorf("schedule.kind: unknown schedule %q, use one of %s", s.Kind, strings.Join(kinds, ", "))
	}
	if s.Warmup < 0 {
		return fmt.Errorf("schedule.warmup is %d, must not be negative", s.Warmup)
	}
	if !(s.Floor >= 0 && s.Floor <= 1) {
		return fmt.Errorf("schedule.floor is %g, must be a share from 0 to 1", s.Floor)
	}
	return nil
}

// At is the share of the learning rate at a step of a run.
func (s Schedule) At(step, steps int) float64 {
	if step < s.Warmup {
		return float64(step+1) / float64(s.Warmup)
	}
	switch s.Kind {
	case "cosine":
		done := float64(step-s.Warmup) / math.Max(1, float64(steps-s.Warmup))
		return s.Floor + (1-s.Floor)*0.5*(1+math.Cos(math.Pi*math.Min(1, done)))
	case "inverse-sqrt":
		return math.Sqrt(math.Max(1, float64(s.Warmup)) / math.Max(1, float64(step+1)))
	}
	return 1
}
