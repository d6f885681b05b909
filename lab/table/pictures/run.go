package pictures

import (
	"errors"
	"fmt"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// Run is one line of a file of picture runs.
type Run struct {
	ID      string         `json:"id"` // its first letter names the table it was made for
	Data    string         `json:"data,omitempty"`
	Method  string         `json:"method,omitempty"`
	Seed    uint64         `json:"seed,omitempty"`
	Flags   string         `json:"flags,omitempty"` // of gritvq train, beside those above
	Seconds float64        `json:"seconds"`
	Train   Trained        `json:"train,omitzero"`  // what train --json printed
	Scores  picture.Scores `json:"scores,omitzero"` // what eval --json printed
	Course  [][]*float64   `json:"course,omitempty"`
	Failed  string         `json:"failed,omitempty"`
}

// The columns of a course; the fourth is perplexity.
const (
	courseStep = 0
	courseUse  = 1
	courseDead = 2
	coursePSNR = 4

	courseColumns = 5
)

// Trained is the part of train --json that the tables need.
type Trained struct {
	Steps   int                     `json:"steps"`
	Seconds float64                 `json:"seconds"`
	Train   tokenizer.PictureScores `json:"train"` // on training pictures
}

// Check implements table.Run.
func (r Run) Check() error {
	if r.ID == "" || r.Failed == "" && (r.Method == "" || r.Data == "") {
		return errors.New("a run needs an id, and data and method unless it failed")
	}
	for _, moment := range r.Course {
		if len(moment) != courseColumns || moment[courseStep] == nil {
			return errors.New("a moment of the course needs step, utilization, dead rate, perplexity and PSNR")
		}
	}
	return nil
}

// About implements table.Run.
func (r Run) About() table.About {
	return table.About{ID: r.ID, Method: r.Method, Seconds: r.Seconds, Failed: r.Failed,
		Cell:    fmt.Sprint(r.Data, " ", r.Method, " ", r.codes(), " ", r.levels(), " ", r.Seed),
		Command: "gritvq train " + table.WithoutFlags(r.Flags, "--codes", "--levels")}
}

func (r Run) codes() int  { return table.Flag(r.Flags, "--codes", 16384) }
func (r Run) levels() int { return table.Flag(r.Flags, "--levels", 1) }

// Record implements table.Run.
func (r Run) Record() table.Record {
	scores := table.Scores{"seconds": r.Train.Seconds}
	if t := r.Train.Train; t.Images > 0 {
		scores["used"], scores["tokens"], scores["dead"] = t.Utilization.Mean, t.TokensPerCode, t.DeadRate
	}
	if s := r.Scores; s.Images > 0 {
		scores["psnr"], scores["ssim"], scores["lpips"], scores["frechet"], scores["kid"] = s.PSNR, s.SSIM, s.LPIPS, s.Frechet, s.KID
		scores["used_held"], scores["tokens_held"], scores["perplexity"] = s.Utilization.Mean, s.TokensPerCode, s.Perplexity.Mean
		scores["bits"], scores["bits_coded"] = s.BitsPerPixel, s.CodedBitsPerPixel
	}
	return table.Record{Method: r.Method, Seed: r.Seed, Scores: scores}
}

var (
	psnr    = table.Measure{Name: "psnr", Title: "PSNR (dB)", Goal: table.Higher, Resolution: table.PSNRResolution, Text: table.Decimals(2)}
	ssim    = table.Measure{Name: "ssim", Title: "SSIM", Goal: table.Higher, Text: table.Decimals(4)}
	lpips   = table.Measure{Name: "lpips", Title: "LPIPS", Goal: table.Lower, Text: table.Decimals(4)}
	frechet = table.Measure{Name: "frechet", Title: "Frechet", Goal: table.Lower, Text: table.Decimals(2)}
	kid     = table.Measure{Name: "kid", Title: "KID", Goal: table.Lower, Text: table.Decimals(4)}
	bits    = table.Measure{Name: "bits", Title: "bits/pixel", Text: table.Decimals(4)}
	used    = table.Measure{Name: "used", Title: "codes used, training", Goal: table.Higher, Percent: true, Text: table.PercentDecimals(1)}

	// measures are the columns of a full table.
	measures = []table.Measure{psnr, ssim, lpips, frechet, kid, used,
		{Name: "used_held", Title: "codes used, held out", Goal: table.Higher, Text: table.PercentDecimals(1)},
		{Name: "tokens", Title: "tokens/code, training", Text: table.Decimals(1)},
		{Name: "tokens_held", Title: "tokens/code, held out", Text: table.Decimals(1)},
		{Name: "dead", Title: "dead", Text: table.PercentDecimals(1)},
		{Name: "perplexity", Title: "perplexity", Text: table.Decimals(0)},
		bits,
		{Name: "bits_coded", Title: "bits/pixel, coded", Text: table.Decimals(4)},
		{Name: "seconds", Title: "seconds", Text: table.Decimals(0)},
	}
	// levelMeasures are those of the table of residual levels.
	levelMeasures = []table.Measure{bits, psnr, ssim, lpips, frechet, kid, used}
)
