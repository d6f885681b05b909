package generation

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/lab/jobs"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/prior"
)

// Record is a finished job, or one that failed: a line of generation.jsonl.
type Record struct {
	Job
	TokenizerHash string             `json:"tokenizer_config,omitempty"` // of its configuration
	PriorHash     string             `json:"prior_config,omitempty"`
	Reconstructed *picture.Scores    `json:"reconstructed,omitempty"` // pictures of Val
	Likelihood    *prior.Scores      `json:"likelihood,omitempty"`    // of the codes of Val
	Drawn         *picture.SetScores `json:"drawn,omitempty"`         // samples against training pictures and Val
	Seconds       map[string]float64 `json:"seconds,omitempty"`       // of the stages
	Failed        string             `json:"failed,omitempty"`
	jobs.Origin
}

// Of implements jobs.Record.
func (r Record) Of(j Job) bool { return r.Job.same(j) }

// Check implements table.Run.
func (r Record) Check() error {
	if r.Failed != "" && r.ID != "" {
		return nil
	}
	if r.Reconstructed == nil || r.Likelihood == nil || r.Drawn == nil {
		return errors.New("a record needs the scores of reconstructions, codes and samples, or the reason of its failure")
	}
	return r.Job.Check()
}

// About implements table.Run.
func (r Record) About() table.About {
	total := 0.0
	for _, s := range r.Seconds {
		total += s
	}
	return table.About{ID: r.ID, Method: r.row(), Failed: r.Failed, Seconds: total,
		Cell:    fmt.Sprint(r.Data, " ", r.row(), " ", r.Codes, " ", r.Seed),
		Command: fmt.Sprint(r.Command, ", tokenizer ", r.Tokenizer, ", prior ", r.Prior)}
}

// Record implements table.Run.
func (r Record) Record() table.Record {
	s := table.Scores{}
	if p := r.Reconstructed; p != nil {
		s["psnr"], s["lpips"], s["used"] = p.PSNR, p.LPIPS, p.Utilization.Mean
	}
	if p := r.Likelihood; p != nil {
		s["bits"], s["bits_token"], s["perplexity"] = p.BitsPerImage, p.BitsPerToken, p.Perplexity
	}
	// Of too few samples only the nearest training picture is told.
	if d := r.Drawn; d != nil && r.Samples > 0 {
		s["frechet"], s["frechet_infinity"], s["precision"], s["recall"] = d.Frechet, d.FrechetInfinity, d.Precision, d.Recall
		for name, kid := range map[string]*eval.KernelInterval{"kid": d.KID, "kid_held": d.KIDHeld} {
			if kid != nil {
				s[name] = kid.Mean
			}
		}
		if d.Diversity != nil {
			s["diversity"] = d.Diversity.Mean
		}
	}
	if d := r.Drawn; d != nil && d.Nearest != nil {
		if f := d.Nearest.Features; f != nil && f.Share != nil {
			s["near"] = *f.Share
		}
		if l := d.Nearest.LPIPS; l != nil {
			s["near_lpips"] = l.Median
		}
	}
	for name, x := range s {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			delete(s, name)
		}
	}
	return table.Record{Method: r.row(), Seed: r.Seed, Scores: s}
}

func (r Record) codes() string { return strconv.Itoa(r.Codes) }
