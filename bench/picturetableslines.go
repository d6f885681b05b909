package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// pictureRun is one line of a file of picture runs: a tokenizer that was trained
// and scored, or why that failed.
type pictureRun struct {
	ID      string         `json:"id"` // its first letter names the table it was made for
	Data    string         `json:"data,omitempty"`
	Method  string         `json:"method,omitempty"`
	Seed    uint64         `json:"seed,omitempty"`
	Flags   string         `json:"flags,omitempty"` // of gritvq train, beside those above
	Seconds float64        `json:"seconds"`
	Train   trained        `json:"train,omitzero"`  // what train --json printed
	Scores  picture.Scores `json:"scores,omitzero"` // what eval --json printed
	Course  [][]*float64   `json:"course,omitempty"`
	Failed  string         `json:"failed,omitempty"`
}

// The columns of a course.
const (
	courseStep = iota
	courseUse
	courseDead
	coursePerplexity
	coursePSNR
	courseColumns
)

// trained is what the tables need of train --json.
type trained struct {
	Steps   int                     `json:"steps"`
	Seconds float64                 `json:"seconds"`
	Train   tokenizer.PictureScores `json:"train"` // on training pictures
}

func (r pictureRun) identity() string { return r.ID }
func (r pictureRun) method() string   { return r.Method }
func (r pictureRun) failure() string  { return r.Failed }
func (r pictureRun) took() float64    { return r.Seconds }

// check reports what the line lacks.
func (r pictureRun) check() error {
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

// table is the letter of the table that the run was made for.
func (r pictureRun) table() string { return tableLetter(r.ID) }

// cell names what a table shows in one place, and the seed.
func (r pictureRun) cell() string {
	return fmt.Sprint(r.Data, " ", r.Method, " ", r.codes(), " ", r.levels(), " ", r.Seed)
}

func (r pictureRun) codes() int  { return flagOf(r.Flags, "--codes", 16384) }
func (r pictureRun) levels() int { return flagOf(r.Flags, "--levels", 1) }

// settings are the flags without those that a table varies.
func (r pictureRun) settings() string { return withoutFlags(r.Flags, "--codes", "--levels") }

// scored returns a score of the held-out pictures, NaN where eval did not run.
func (r pictureRun) scored(of func(picture.Scores) float64) float64 {
	if r.Scores.Images == 0 {
		return math.NaN()
	}
	return of(r.Scores)
}

// onTraining returns a score of the training pictures, NaN where there is none.
func (r pictureRun) onTraining(of func(tokenizer.PictureScores) float64) float64 {
	if r.Train.Train.Images == 0 {
		return math.NaN()
	}
	return of(r.Train.Train)
}
