package tokenize

import (
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// When a run is worth a remark.
const (
	lastPart     = 0.25  // of the steps, in which the error of a finished run hardly falls
	stillFalling = 0.05  // part of the error that is more than hardly
	clearlyLess  = 0.005 // part of the error by which a classical method is better
	clearlyMore  = 0.05  // the same in dB
)

// advise says what is wrong with a finished run: that it stopped early, ended too early, or
// lost against the classical reference.
func advise(c vqtrain.Config, records []vqtrain.Record, steps int, m bundle.Manifest) (advice []string) {
	if vq.Classical(c.Quantizer.Method) {
		return nil
	}
	t := c.Train
	switch seen := steps * t.Batch; {
	case steps == 0: // the start was kept
	case steps < t.Steps:
		advice = append(advice, fmt.Sprintf("stopped at step %s of %s: the held-out error no longer fell "+
			"(train.flat or train.patience: 0 trains on)", report.Count(steps), report.Count(t.Steps)))
	case seen < m.Data.TrainRows:
		advice = append(advice, fmt.Sprintf("undertrained: %s of %s saw only %s of the %s training items; use --steps %d or more",
			report.Counted(steps, "step"), report.Count(t.Batch), report.Count(seen), report.Count(m.Data.TrainRows),
			(m.Data.TrainRows+t.Batch-1)/t.Batch))
	default:
		if fell := lateFall(records, t.Steps); fell > stillFalling {
			advice = append(advice, fmt.Sprintf("undertrained: the held-out error still fell by %s over the last quarter of the steps; "+
				"use more --steps", report.Percent(fell, 0)))
		}
	}
	return append(advice, classicalIsBetter(m)...)
}

// lateFall is the part by which the held-out error fell over the last part of the steps, 0 if that is not known.
func lateFall(records []vqtrain.Record, steps int) float64 {
	records = slices.DeleteFunc(slices.Clone(records), func(r vqtrain.Record) bool { return r.Held == nil || r.Phase != "train" })
	before := -1
	for i, r := range records {
		if float64(r.Step) <= (1-lastPart)*float64(steps) {
			before = i
		}
	}
	if before < 0 || before == len(records)-1 {
		return 0
	}
	was, is := heldError(records[before].Held), heldError(records[len(records)-1].Held)
	if !(was > 0) {
		return 0
	}
	return 1 - is/was
}

func heldError(h *vqtrain.HeldRecord) float64 {
	if h.RelativeError > 0 {
		return h.RelativeError
	}
	return h.MSE
}

func classicalIsBetter(m bundle.Manifest) []string {
	held, _ := m.Metrics.Results()
	r := m.Metrics.Reference
	if held == nil || r == nil {
		return nil
	}
	if s := held.Summary(); m.Metrics.Pictures != nil {
		if r.Score > s.PSNR+clearlyMore {
			return []string{fmt.Sprintf("a classical method does better: %s has %s dB, this tokenizer %s dB; train longer, or with --codes and "+
				"--down that leave more bits", r.Name, report.Number(r.Score, 4), report.Number(s.PSNR, 4))}
		}
	} else if r.Score < s.RelativeError*(1-clearlyLess) {
		method := vq.RQ.Name
		if r.Name == vq.LSQ.Title {
			method = vq.LSQ.Name
		}
		return []string{fmt.Sprintf("a classical method does better: %s has a relative error of %s, this tokenizer %s; use --method %s",
			r.Name, report.Number(r.Score, 4), report.Number(s.RelativeError, 4), method)}
	}
	return nil
}
