package vqtrain

import (
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/gritvq/gritvq/nn"
	"github.com/gritvq/gritvq/train"
	"github.com/gritvq/gritvq/weights"
)

// Adversarial is the loss of a discriminator that learns to tell reconstructions from pictures (VQGAN: Esser et al., 2021).
type Adversarial struct {
	Weight float64 `yaml:"weight"`
	Start  float64 `yaml:"start" doc:"Share of the steps before the discriminator begins."`
	Rate   float64 `yaml:"rate" doc:"Learning rate of the discriminator as a multiple of optimizer.rate."`
}

// Docs describes keys for package config.
func (Adversarial) Docs() map[string]string {
	return map[string]string{
		"weight": "Pictures: length of the adversarial gradient as a multiple of the reconstruction's, both at the decoder's last layer " +
			"(0: no discriminator; VQGAN has 0.8). It falls by itself if training diverges.",
	}
}

func (a Adversarial) validate(pictures bool) error {
	switch {
	case !(a.Weight >= 0) || math.IsInf(a.Weight, 0):
		return fmt.Errorf("train.adversarial.weight: %g must be a number of at least 0", a.Weight)
	case a.Weight > 0 && !pictures:
		return fmt.Errorf("train.adversarial.weight: %g needs pictures; set it to 0 for vectors", a.Weight)
	case !(a.Start >= 0 && a.Start < 1):
		return fmt.Errorf("train.adversarial.start: %g must be at least 0 and below 1", a.Start)
	case !(a.Rate > 0) || math.IsInf(a.Rate, 0):
		return fmt.Errorf("train.adversarial.rate: %g must be positive", a.Rate)
	}
	return nil
}

const (
	discriminatorPrefix = "discriminator"
	shareName           = "state/share" // of the configured weight, [1]
)

// The guard of the contest between tokenizer and discriminator.
const (
	contestAfter = 200      // steps before it is judged, and between two falls of the weight
	contestPace  = 0.02     // of the running mean of the discriminator's loss
	hingeLost    = 1.1      // its loss if it is wrong more often than one that always says 0, which has 1
	hingeWon     = 0.02     // its loss if reconstructions have no chance
	errorFactor  = 2        // reconstruction error over that at the start
	leastShare   = 1.0 / 64 // below, the weight becomes 0
)

// contest is the state of the guard.
type contest struct {
	Share float64 `json:"share"` // of the configured weight
	Since int     `json:"since"` // step at which it began or the weight last fell
	Level float64 `json:"level"` // running mean of the reconstruction error when it began; 0: not known yet
	Hinge float64 `json:"hinge"` // running mean of the discriminator's loss
}

// discriminator judges patches of about half a picture's width, with the channels of the tokenizer.
func (t *Trainer) discriminator() nn.PatchDiscriminator {
	image := t.config.Model.Image
	d := nn.PatchDiscriminator{Width: image.Widths[0], Layers: nn.PatchLayers(image.Size)}
	if image.Precision == "bf16" {
		d.DType = dtypes.BFloat16
	}
	return d
}

// discriminating is the role of a variable of the discriminator; ok is false for all others.
func discriminating(p string) (role train.Role, ok bool) {
	switch {
	case !strings.HasPrefix(p, discriminatorPrefix+"/"):
		return 0, false
	case weights.GroupOf(p) == weights.State:
		return train.Internal, true
	}
	return train.Assisting, true
}

// beginContest adds the discriminator once its share of the steps is over.
func (t *Trainer) beginContest(step int) error {
	a := t.config.Train.Adversarial
	if a.Weight == 0 || t.state.Contest != nil || float64(step) < a.Start*float64(t.config.Train.Steps) {
		return nil
	}
	set := t.discriminator().Init(weights.Rand(t.config.Seed, discriminatorPrefix))
	set[shareName] = weights.Full(1, 1)
	t.state.Contest = &contest{Share: 1, Since: step, Level: t.state.Smooth, Hinge: 1}
	return t.loop.Assist(weights.Set{}.Merge(discriminatorPrefix, set))
}

// AdversarialRecord is the contest at a step.
type AdversarialRecord struct {
	Weight        float64 `json:"weight"`        // the configured weight times the share left of it
	Adaptive      float64 `json:"adaptive"`      // the ratio of the gradients' lengths
	Generator     float64 `json:"generator"`     // the term of the tokenizer before its weights
	Discriminator float64 `json:"discriminator"` // the discriminator's own loss
	Real          float64 `json:"real"`          // mean judgement of pictures
	Drawn         float64 `json:"drawn"`         // and of reconstructions
}

// fill reads the scalars of a step; usable is false if the adversarial term was not finite.
func (r *AdversarialRecord) fill(scalars []float32) (usable bool) {
	for i, field := range []*float64{&r.Adaptive, &r.Generator, &r.Discriminator, &r.Real, &r.Drawn} {
		*field = train.Finite(float64(scalars[i]))
	}
	last := float64(scalars[2])
	return scalars[5] == 1 && !math.IsNaN(last) && !math.IsInf(last, 0)
}

// watchContest records the contest and lowers the weight if it diverges.
func (t *Trainer) watchContest(s *train.Step) error {
	c := t.state.Contest
	if c == nil {
		return nil
	}
	r := &AdversarialRecord{Weight: t.config.Train.Adversarial.Weight * c.Share}
	usable := r.fill(s.Scalars[passScalars:])
	t.record.Adversarial = r
	if c.Share == 0 {
		return nil
	}
	if usable {
		c.Hinge += contestPace * (r.Discriminator - c.Hinge)
	}
	if c.Level == 0 {
		c.Level = t.state.Smooth
	}
	problem := c.problem(s.Step, usable, t.state.Smooth)
	if problem == "" {
		return nil
	}
	c.Since, c.Hinge = s.Step, 1
	if c.Share /= 2; c.Share < leastShare {
		c.Share = 0
	}
	event := fmt.Sprintf("adversarial loss: %s; its weight falls to %.3g", problem, t.config.Train.Adversarial.Weight*c.Share)
	if s.Event != "" {
		event = s.Event + "; " + event
	}
	s.Event = event
	return t.bank.Install(weights.Set{path.Join(discriminatorPrefix, shareName): weights.Full(float32(c.Share), 1)})
}

// problem says in what way the contest diverges; empty if it does not.
func (c *contest) problem(step int, usable bool, smooth float64) string {
	switch {
	case !usable:
		return "the discriminator is not finite"
	case step-c.Since < contestAfter:
	case smooth > errorFactor*c.Level:
		return fmt.Sprintf("the reconstruction error %.3g is over %d times the %.3g at its start", smooth, errorFactor, c.Level)
	case c.Hinge < hingeWon:
		return fmt.Sprintf("the discriminator wins (mean loss %.3g)", c.Hinge)
	case c.Hinge > hingeLost:
		return fmt.Sprintf("the discriminator loses (mean loss %.3g)", c.Hinge)
	}
	return ""
}
