// Package recommenders runs the experiments of recommendation and search over semantic IDs, whose page package
// lab/table/recommendation makes. A job makes IDs, trains a recommender on them and scores it, by commands of the program
// that anyone can repeat.
package recommenders

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/lab/table/recommendation"
)

// Job is an experiment: a line of a list of jobs. Paths are below a directory of data, unless they are absolute or synthetic.
type Job struct {
	ID         string   `json:"id"`   // its first letter names its table
	Data       string   `json:"data"` // name of the data
	Embeddings string   `json:"embeddings"`
	Items      string   `json:"items,omitempty"`
	Log        string   `json:"log"`    // or searches, such as "derived"
	Method     string   `json:"method"` // of the IDs
	Codes      int      `json:"codes,omitempty"`
	IDs        []string `json:"ids,omitempty"`  // more flags of gritvq ids
	Kind       string   `json:"kind"`           // generative, dual or search
	Prior      string   `json:"prior"`          // that the model starts from; none compares IDs alone
	Seen       string   `json:"seen,omitempty"` // keep or drop; empty: the log's own
	Seed       uint64   `json:"seed"`
	Model      []string `json:"model,omitempty"` // more flags of the command that trains
}

var identifier = regexp.MustCompile(`^[a-z]-[a-z0-9.+-]+$`)

// Name implements jobs.Job.
func (j Job) Name() string { return j.ID }

// Check implements jobs.Job.
func (j Job) Check() error {
	switch {
	case !identifier.MatchString(j.ID):
		return fmt.Errorf("id %q: write a letter for the table, a hyphen and a name of small letters, digits, dots and hyphens", j.ID)
	case j.Data == "" || j.Embeddings == "" || j.Log == "" || j.Method == "" || j.Prior == "":
		return fmt.Errorf("job %s needs data, embeddings, log, method and prior", j.ID)
	case !slices.Contains(recommendation.Kinds(), j.Kind):
		return fmt.Errorf("job %s: kind %q: use one of %s", j.ID, j.Kind, strings.Join(recommendation.Kinds(), ", "))
	}
	return nil
}

// command is the command of the program for the job's kind.
func (j Job) command() string {
	if j.Kind == recommendation.SearchKind {
		return "retrieve"
	}
	return "recommend"
}

// idsName names the IDs, which jobs of several models share.
func (j Job) idsName() string {
	return strings.Join(append([]string{j.Data, j.Method, strconv.Itoa(j.Codes), strconv.FormatUint(j.Seed, 10)}, j.IDs...), "_")
}

// idsFlags are those of gritvq ids beside inputs and output.
func (j Job) idsFlags() []string {
	flags := []string{"--method", j.Method}
	if j.Method != denseMethod {
		flags = append(flags, "--codes", strconv.Itoa(j.Codes), "--seed", strconv.FormatUint(j.Seed, 10))
	}
	return append(flags, j.IDs...)
}

// modelFlags are those of the command that trains, beside inputs, output, kind, prior and seed.
func (j Job) modelFlags() []string {
	flags := []string{"--prior", j.Prior}
	if j.Seen != "" {
		flags = append(flags, "--seen", j.Seen)
	}
	return append(flags, j.Model...)
}

// path returns a path of the job below a directory of data.
func path(data, name string) string {
	if name == derived || filepath.IsAbs(name) || dataset.IsSynthetic(name) {
		return name
	}
	return filepath.Join(data, name)
}

const (
	denseMethod = "dense"
	derived     = "derived" // searches made up from the catalogue
)
