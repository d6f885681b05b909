package exp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// Record is a finished cell: what cells/<id>.json holds.
type Record struct {
	ID       string `json:"id"`
	Method   string `json:"method"`
	Point    Point  `json:"point"`
	Seed     uint64 `json:"seed"`
	Error    string `json:"error,omitempty"` // why it failed; everything below is then empty
	Settings string `json:"settings"`        // YAML
	Vocab    []int  `json:"vocab"`           // codes of every position
	Scores   Scores `json:"scores"`
	// Course is utilization and held-out error over training; empty for
	// methods that take no steps.
	Course []Moment `json:"course,omitempty"`
	// Usage [position][code] counts how often rows of the whole file chose each
	// code.
	Usage [][]uint64 `json:"usage"`
	// Errors counts held-out rows by their squared error; see [ErrorBins].
	Errors []int `json:"errors"`
}

// Scores of one cell. Rates and shares are fractions unless they say otherwise.
type Scores struct {
	MSE             float64 `json:"mse"`              // held out
	RelativeError   float64 `json:"relative_error"`   // held out
	Cosine          float64 `json:"cosine"`           // held out
	Recall          float64 `json:"recall_at_10"`     // see [Recall]
	Utilization     float64 `json:"utilization"`      // whole file, mean over positions
	UtilizationHeld float64 `json:"utilization_held"` // held out
	Perplexity      float64 `json:"perplexity"`       // whole file, mean over positions
	DeadCodes       int     `json:"dead_codes"`       // no row of the whole file uses them; all positions
	TrainSeconds    float64 `json:"train_seconds"`
	EncodeRate      float64 `json:"encode_rate"` // vectors a second
	DecodeRate      float64 `json:"decode_rate"` // vectors a second
	Parameters      int     `json:"parameters"`  // all numbers of the stored model
	BitsPerVector   float64 `json:"bits_per_vector"`
}

// Moment is a point in the course of training.
type Moment struct {
	Step        int      `json:"step"`
	Utilization *float64 `json:"utilization,omitempty"` // of recent batches
	Held        *float64 `json:"held,omitempty"`        // relative error, where it was measured
}

// failed is the record of a cell that did not work out.
func (c Cell) failed(reason string) Record {
	return Record{ID: c.ID, Method: c.Method, Point: c.Point, Seed: c.Config.Seed, Error: reason}
}

func recordPath(dir, id string) string { return filepath.Join(dir, "cells", id+".json") }

// loadRecord reads the record of a finished cell. A cell that failed, is not
// there, or whose file is damaged has to be run.
func loadRecord(dir, id string) (r Record, finished bool, err error) {
	content, err := os.ReadFile(recordPath(dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("reading a finished cell: %w", err)
	}
	if json.Unmarshal(content, &r) != nil || r.ID != id {
		return Record{}, false, nil
	}
	return r, r.Error == "", nil
}

func (r Record) store(dir string) error { return writeJSON(recordPath(dir, r.ID), r) }

// writeJSON writes v, indented, whole or not at all.
func writeJSON(path string, v any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(v)
	})
}
