package compare

import (
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/internal/atomicfile"
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
	for _, m := range r.Methods {
		if m.Error == "" {
			return nil
		}
	}
	return fmt.Errorf("every method failed, %s with: %s", r.Methods[0].Method, r.Methods[0].Error)
}

// write puts index.html, results.csv and results.json into dir, each whole or not at all.
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
	return writeJSON(filepath.Join(dir, ResultsFile), r)
}
