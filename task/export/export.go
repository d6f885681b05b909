// Package export turns trained tokenizers and logs into files of other programs.
package export

import (
	"context"
	"fmt"
	"strings"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
)

// Options name what is exported.
type Options struct {
	tokenize.CodingOptions        // the source is Dir, of tensorboard also a log; Input are vectors to be stored in an index, or ""
	To                     string // one of Formats
	Output                 string
	Codes                  string // file of codes to be stored in an index, in place of Input
	IDs                    string // file of their IDs; "" numbers them from 0
}

// Result describes an export.
type Result struct {
	Output string   `json:"output"`
	Files  []File   `json:"files"`
	Rows   int      `json:"rows"`  // stored vectors
	Notes  []string `json:"notes"` // what a user of the files has to know
}

// File is a written file.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	Text  string `json:"text"` // its content in a few words
}

// String lists the files and the notes.
func (r Result) String() string {
	var lines []string
	for _, f := range r.Files {
		lines = append(lines, fmt.Sprintf("%s: %s, %sB", f.Name, f.Text, report.Short(float64(f.Bytes), 3)))
	}
	for _, note := range r.Notes {
		lines = append(lines, "note: "+note)
	}
	return strings.Join(lines, "\n")
}

// format is a kind of file that can be written.
type format struct {
	name string
	run  func(ctx context.Context, o Options, watch task.Watcher) (Result, error)
}

var formats = []format{{"faiss", toFAISS}, {"onnx", toONNX}, {"tensorboard", toTensorBoard}}

// Formats lists the values of Options.To.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Run writes the files of an export.
func Run(ctx context.Context, o Options, watch task.Watcher) (Result, error) {
	for _, f := range formats {
		if f.name == o.To {
			return f.run(ctx, o, watch)
		}
	}
	if o.To == "" {
		return Result{}, usage.Errorf("no format was named: add --to %s", strings.Join(Formats(), "|"))
	}
	return Result{}, usage.Errorf("--to %s: the formats are %s", o.To, strings.Join(Formats(), ", "))
}
