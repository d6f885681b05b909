package pictures

import (
	"errors"
	"fmt"
	"strings"

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
	Train   Trained        `json:"train,omitzero"`  // output of train --json
	Scores  picture.Scores `json:"scores,omitzero"` // output of eval --json
	Course  [][]*float64   `json:"course,omitempty"`
	Failed  string         `json:"failed,omitempty"`
	// Commit and ConfigHash are of the program and the settings that trained; "unknown" for older lines.
	Commit     string `json:"commit,omitempty"`
	ConfigHash string `json:"config_hash,omitempty"` // of config.yaml
	// Of runs of today's networks; older lines lack them.
	Hardware string `json:"hardware,omitempty"`
	Date     string `json:"date,omitempty"`
	AtOnce   int    `json:"at_once,omitempty"` // runs that shared the machine
}

// The columns of a course; the fourth is perplexity.
const (
	courseStep    = 0
	courseUse     = 1
	courseDead    = 2
	coursePSNR    = 4
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
	return table.About{ID: r.ID, Method: r.row(), Seconds: r.Seconds, Failed: r.Failed,
		Cell:    fmt.Sprint(r.network(), " ", r.Data, " ", r.row(), " ", r.codes(), " ", r.levels(), " ", r.Seed),
		Command: "gritvq train " + table.WithoutFlags(r.Flags, "--codes", "--levels")}
}

// row is the name of the run's row in tables: its method, and +context.
func (r Run) row() string {
	if table.Flag(r.Flags, "quantizer.transform.context", 0) > 0 {
		return r.Method + "+context"
	}
	return r.Method
}

// network distinguishes the networks of today's defaults from older ones.
func (r Run) network() string {
	if strings.HasPrefix(r.ID, linearRuns.letters) {
		return "linear path"
	}
	return "before the linear path"
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
	return table.Record{Method: r.row(), Seed: r.Seed, Scores: scores}
}
