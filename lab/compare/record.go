package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/lab/table"
)

// Record is a finished cell: the content of cells/<id>.json.
type Record struct {
	ID       string       `json:"id"`
	Method   string       `json:"method"`
	Point    Point        `json:"point"`
	Seed     uint64       `json:"seed"`
	Error    string       `json:"error,omitempty"` // why it failed; everything below is then empty
	Settings string       `json:"settings"`        // YAML
	Vocab    []int        `json:"vocab"`           // codes of every position
	Scores   table.Scores `json:"scores"`
	// Course is use of codes and held-out score over training; empty for methods that take no steps.
	Course []Moment `json:"course,omitempty"`
	// Usage [position][code] counts how often training and held-out items chose each code.
	Usage [][]uint64 `json:"usage"`
	// Errors counts held-out rows of vectors by their squared error; see [ErrorBins].
	Errors []int `json:"errors,omitempty"`
	// Samples are held-out pictures and their reconstructions.
	Samples []Sample `json:"samples,omitempty"`
	Notes   []string `json:"notes,omitempty"` // how to read the scores
}

// Moment is a point in the course of training.
type Moment struct {
	Step        int      `json:"step"`
	Utilization *float64 `json:"utilization,omitempty"` // of recent batches
	DeadRate    *float64 `json:"dead_rate,omitempty"`   // of recent batches
	Held        *float64 `json:"held,omitempty"`        // the kind's course, where it was measured
}

// Sample is a picture and its reconstruction, as PNG files.
type Sample struct {
	Original []byte   `json:"original"`
	Decoded  []byte   `json:"decoded"`
	PSNR     *float64 `json:"psnr"` // null where they are identical
}

func (c Cell) failed(reason string) Record {
	return Record{ID: c.ID, Method: c.Method, Point: c.Point, Seed: c.Config.Seed, Error: reason}
}

func recordPath(dir, id string) string { return filepath.Join(dir, cellsDir, id+".json") }

// loadRecord reads a record. A cell that failed, is not there, or whose file is damaged is not finished.
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

func writeJSON(path string, v any) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(v)
	})
}

func (r *Record) count(usage *eval.Usage) {
	r.Vocab, r.Usage = usage.Vocab(), nil
	for position := range r.Vocab {
		r.Usage = append(r.Usage, usage.Histogram(position))
	}
}
