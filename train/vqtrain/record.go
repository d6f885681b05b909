package vqtrain

import (
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train"
)

// Record is one line of log.jsonl.
type Record struct {
	Step           int                `json:"step"`
	Phase          string             `json:"phase"`
	Epoch          int64              `json:"epoch"`
	Loss           float64            `json:"loss"`
	Reconstruction float64            `json:"reconstruction"`
	Auxiliary      float64            `json:"auxiliary"`
	Perceptual     float64            `json:"perceptual,omitempty"` // before its weight
	Adversarial    *AdversarialRecord `json:"adversarial,omitempty"`
	Rate           float64            `json:"rate"`
	GradientNorm   float64            `json:"gradient_norm"`
	Gradients      map[string]float64 `json:"gradients,omitempty"` // by parameter group
	Gap            float64            `json:"gap"`                 // mean |code - latent|
	K              float64            `json:"k"`                   // mean gradient factor of the radius
	Pull           *PullRecord        `json:"pull,omitempty"`
	Drift          float64            `json:"drift"` // of the usable codes between refreshes, |C' - C'before| / |C'before|
	Distortion     *DistortionRecord  `json:"distortion,omitempty"`
	Utilization    float64            `json:"utilization"`
	DeadRate       float64            `json:"dead_rate"`
	Perplexity     float64            `json:"perplexity"`
	EntropyBits    float64            `json:"entropy_bits"`
	Levels         *LevelRecord       `json:"levels,omitempty"`
	RowNormMin     float64            `json:"row_norm_min"` // of the usable codes
	RowNormMax     float64            `json:"row_norm_max"`
	FeatureNorm    float64            `json:"feature_norm"`     // largest |W|₂
	FeatureLeast   float64            `json:"feature_smallest"` // least singular value of any W
	Reset          int                `json:"reset"`            // codes moved at this step
	Resets         int                `json:"resets"`           // and in all
	Skipped        int                `json:"skipped"`          // steps skipped so far
	Held           *HeldRecord        `json:"held,omitempty"`
	Choice         *ChoiceRecord      `json:"choice,omitempty"` // of the first step
	Event          string             `json:"event,omitempty"`
	Progress       Progress           `json:"-"` // of the whole run
}

// PullRecord tells how the gradients of a step move latents and codes, see [vq.Pulls].
type PullRecord struct {
	Aligned float64 `json:"aligned"` // share of tokens with <g, s> >= 0
	Encoder float64 `json:"encoder"` // above 0 a step of the encoder closes the gaps
	Both    float64 `json:"both"`    // above 0 a step of encoder and codes at equal rates does
}

// ChoiceRecord is a choice as the log has it, without times: logs of equal runs are
// equal.
type ChoiceRecord struct {
	Start    float64       `json:"start"`
	Trials   []TrialRecord `json:"trials"`
	Settings []string      `json:"settings"`
	Error    float64       `json:"error"`
	Kept     bool          `json:"kept"`
}

// TrialRecord is a trial as the log has it.
type TrialRecord struct {
	Settings []string `json:"settings"`
	Steps    int      `json:"steps"`
	Error    float64  `json:"error"`
}

// recordChoice returns the record of a choice; nil if there was none.
func recordChoice(c *tokenizer.Choice) *ChoiceRecord {
	if c == nil {
		return nil
	}
	r := &ChoiceRecord{Start: c.Start, Settings: c.Settings, Error: c.Error, Kept: c.Kept}
	for _, t := range c.Trials {
		r.Trials = append(r.Trials, TrialRecord{t.Settings, t.Steps, t.Error})
	}
	return r
}

// LevelRecord is the window's usage of every slot (see [vq.Layout]).
type LevelRecord struct {
	Utilization []float64 `json:"utilization"`
	Perplexity  []float64 `json:"perplexity"`
}

// HeldRecord is a score on held-out items.
type HeldRecord = tokenizer.Summary

// describe completes the record of a step with the numbers of the loop.
func (t *Trainer) describe(r train.Record) any {
	own := &t.record
	own.Progress = Progress{Done: r.Step, Total: t.config.Train.Steps}
	own.Step, own.Loss, own.Rate, own.GradientNorm = r.Step, r.Loss, r.Rate, r.GradientNorm
	own.Resets, own.Skipped, own.Event = t.state.Resets, r.Skipped, r.Event
	return *own
}

// ReadLog reads the records of a log.jsonl.
func ReadLog(path string) ([]Record, error) { return train.ReadLog[Record](path) }
