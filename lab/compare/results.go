package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/seal"
	"github.com/gritvq/gritvq/lab/table"
)

// Results is a whole comparison: the content of results.json.
type Results struct {
	Kind      *Kind     `json:"-"`
	Title     string    `json:"-"`       // of the page; may be empty
	Methods   []Summary `json:"methods"` // as [Kind.Summarize] sorts them
	Data      Data      `json:"data"`
	Settings  Settings  `json:"settings"`
	Command   string    `json:"command"`
	CreatedBy string    `json:"created_by"` // such as "gritvq v0.1.0"
	Created   time.Time `json:"created"`
	Report    string    `json:"report"` // path of the page
}

// Data is the data of a comparison.
type Data struct {
	Name        string `json:"name"`
	Held        string `json:"held,omitempty"` // name of the held-out set, if it is another
	Kind        string `json:"kind"`           // "vectors" or "pictures"
	Fingerprint string `json:"fingerprint"`
	Rows        int    `json:"rows"`
	Dim         int    `json:"dim,omitempty"`  // of vectors
	Size        int    `json:"size,omitempty"` // of pictures: the side of the squares the network sees
	TrainRows   int    `json:"train_rows"`
	HeldRows    int    `json:"held_rows"`
	Dropped     int    `json:"dropped_rows"` // for NaN or Inf
}

// Settings are shared by all methods.
type Settings struct {
	Methods []string `json:"methods"`
	Points  []Point  `json:"points"`
	Seeds   []uint64 `json:"seeds"`
	Preset  string   `json:"preset"`
	Steps   int      `json:"steps"`
	Batch   int      `json:"batch"`
	Split   float64  `json:"split"`
	Network []int    `json:"network"`           // widths from input to latents; one width: no network
	Metrics []string `json:"metrics,omitempty"` // networks behind the scores of pictures
	Backend string   `json:"backend"`
	Jobs    int      `json:"jobs"`
}

// The files of a report.
const (
	PageFile    = "index.html"
	SheetFile   = "results.csv"
	ResultsFile = "results.json"
)

// Err reports that every method failed.
func (r *Results) Err() error {
	if slices.ContainsFunc(r.Methods, func(m Summary) bool { return m.Error == "" }) {
		return nil
	}
	return fmt.Errorf("every method failed, %s with: %s", r.Methods[0].Method, r.Methods[0].Error)
}

func (r *Results) write(dir string) error {
	r.Report = filepath.Join(dir, PageFile)
	page, err := r.Page()
	if err != nil {
		return fmt.Errorf("making the report: %w", err)
	}
	if err := page.WriteFile(r.Report); err != nil {
		return err
	}
	err = atomicfile.Write(filepath.Join(dir, SheetFile), func(w io.Writer) error { return r.Kind.Sheet(r.Methods).CSV(w) })
	if err != nil {
		return err
	}
	return atomicfile.WriteJSON(filepath.Join(dir, ResultsFile), "  ", r)
}

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
	Course   []Moment     `json:"course,omitempty"`  // use of codes and held-out score over training, if there are steps
	Usage    [][]uint64   `json:"usage"`             // [position][code] training and held-out items assigned to the code
	Errors   []int        `json:"errors,omitempty"`  // held-out rows of vectors by their squared error; see [ErrorBins]
	Samples  []Sample     `json:"samples,omitempty"` // held-out pictures and their reconstructions
	Notes    []string     `json:"notes,omitempty"`   // how to read the scores
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
	PSNR     *float64 `json:"psnr"` // null for identical pictures in records of earlier versions
}

func (c Cell) failed(reason string) Record {
	return Record{ID: c.ID, Method: c.Method, Point: c.Point, Seed: c.Config.Seed, Error: reason}
}

func recordPath(dir, id string) string { return filepath.Join(dir, cellsDir, id+".json") }

// loadRecord reads a record. A cell that failed, is not there, or whose file is damaged is not finished.
func loadRecord(dir, id string) (r Record, finished bool, err error) {
	content, err := memory.ReadFile(recordPath(dir, id))
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("reading a finished cell: %w", err)
	}
	if json.Unmarshal(content, &r) != nil || seal.Verify(content, &r) != nil || r.ID != id {
		return Record{}, false, nil
	}
	return r, r.Error == "", nil
}

func (r Record) store(dir string) error { return seal.WriteFile(recordPath(dir, r.ID), r) }

func (r *Record) count(usage *eval.Usage) {
	r.Vocab, r.Usage = usage.Vocab(), nil
	for position := range r.Vocab {
		r.Usage = append(r.Usage, usage.Histogram(position))
	}
}
