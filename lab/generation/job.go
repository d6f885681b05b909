// Package generation runs the experiments of generating pictures from codes, and makes results/generation.md from their
// records. A job trains a tokenizer and a prior of its codes, draws pictures from the prior and scores them.
package generation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/vq"
)

// Job is an experiment: a line of a list of jobs.
type Job struct {
	ID     string `json:"id"`   // its first letter names its table, see [Document]
	Data   string `json:"data"` // name of the data
	Train  string `json:"train"`
	Val    string `json:"val"` // pictures that tokenizer and prior have not seen
	Method string `json:"method"`
	// Variant names settings of the method that have a row of their own in tables, such as "context"; see [variants].
	Variant string `json:"variant,omitempty"`
	Codes   int    `json:"codes"`
	Seed    uint64 `json:"seed"`
	// Settings beside those above, such as "train.steps=3000".
	Tokenizer []string `json:"tokenizer"`
	Prior     []string `json:"prior"`
	Samples   int      `json:"samples"` // 0: too few pictures for scores of samples
	Nearest   int      `json:"nearest"` // samples without scores, which are compared with their nearest training pictures alone
}

var identifier = regexp.MustCompile(`^[a-z]-[a-z0-9.+-]+$`)

// variants are settings beside those of a method.
var variants = map[string]string{"context": "quantizer.transform.context=2"}

// row is the name of the job's row in tables: its method, or method+variant.
func (j Job) row() string {
	if j.Variant == "" {
		return j.Method
	}
	return j.Method + "+" + j.Variant
}

// title is a row's name for readers.
func title(row string) string { return table.RowTitle(row, vq.Title) }

// Name implements jobs.Job.
func (j Job) Name() string { return j.ID }

// Check implements jobs.Job.
func (j Job) Check() error {
	switch {
	case !identifier.MatchString(j.ID):
		return fmt.Errorf("id %q: write a letter for the table, a hyphen and a name of small letters, digits, dots and hyphens", j.ID)
	case j.Data == "" || j.Train == "" || j.Val == "" || j.Method == "" || j.Codes < 2:
		return fmt.Errorf("job %s needs data, train, val, method, and codes of at least 2", j.ID)
	case j.Variant != "" && variants[j.Variant] == "":
		return fmt.Errorf("job %s: there is no variant %q", j.ID, j.Variant)
	case j.Samples < 0 || j.Nearest < 0 || j.Samples == 0 && j.Nearest == 0:
		return fmt.Errorf("job %s draws no samples; set samples, or nearest", j.ID)
	}
	return nil
}

// same says whether another job has the same settings.
func (j Job) same(other Job) bool {
	a, _ := json.Marshal(j)
	b, _ := json.Marshal(other)
	return bytes.Equal(a, b)
}

// count is the number of pictures drawn.
func (j Job) count() int { return max(j.Samples, j.Nearest) }

// within returns a path of the job, which is below a directory of data unless it is absolute or synthetic.
func within(data, path string) string {
	if filepath.IsAbs(path) || dataset.IsSynthetic(path) {
		return path
	}
	return filepath.Join(data, path)
}

// set is a data set of the grid.
type set struct {
	name      string
	size      int
	samples   int // as many as training pictures; 0: too few for scores
	tokenizer []string
}

// The sets and the settings of the grid.
var (
	faces = set{"celeba-128", 128, 5000, []string{"model.image.size=128", "model.image.widths=[64,128,128,256]", "model.dim=64"}}
	large = []set{{"pets-256", 256, 0, nil}, {"celebahq-256", 256, 0, nil}}

	gridTokenizer = []string{"train.steps=2000", "train.batch=64", "train.evaluate=0", "model.image.precision=bf16", "train.perceptual=0.1"}
	gridPrior     = []string{"model.layers=6", "model.width=384", "model.heads=6", "train.steps=3000", "flips=true", "train.best=true"}
)

// The methods of the grid: all, those of large pictures, and those of sweeps.
var (
	allMethods = []string{"grit", "ema", "fsq", "diveq", "grit+context", "simvq", "ste", "nsvq", "sf-diveq", "lfq", "hypervq", "gumbel",
		"ema+context"}
	largeMethods = []string{"ema", "diveq", "grit"}
	sweepMethods = []string{"grit", "ema", "fsq", "diveq", "grit+context"} // also those with three seeds
)

// B = 9 of the paper's main table, and the codes of its other tables.
const mainCodes = 512

var (
	lowCodes   = []int{128, 256}
	largeCodes = []int{1 << 10, 1 << 12, 1 << 14, 1 << 16}
)

const nearestSamples = 256

func (s set) job(letter, row string, codes int, seed uint64) Job {
	j := Job{ID: fmt.Sprintf("%s-%s-%s-%d-%d", letter, s.name, row, codes, seed), Data: s.name,
		Train: "images/" + s.name + "-train.tar", Val: "images/" + s.name + "-val.tar", Codes: codes, Seed: seed,
		Tokenizer: append(append([]string{}, s.tokenizer...), gridTokenizer...), Prior: gridPrior, Samples: s.samples}
	if j.Method, j.Variant, _ = strings.Cut(row, "+"); j.Variant != "" {
		j.Tokenizer = append(j.Tokenizer, variants[j.Variant])
	}
	if s.tokenizer == nil {
		j.Tokenizer = append(j.Tokenizer, "model.image.size="+strconv.Itoa(s.size))
	}
	if s.samples == 0 {
		j.Nearest = nearestSamples
	}
	return j
}

// Grid lists the jobs of the paper's tables in the order of what they tell for their time: the main table with one seed, then
// with more; low bitrates, large codebooks; large pictures, which take the longest and have no scores of samples.
func Grid() (jobs []Job) {
	add := func(s set, letter string, methods []string, codes []int, seeds ...uint64) {
		for _, seed := range seeds {
			for _, k := range codes {
				for _, method := range methods {
					jobs = append(jobs, s.job(letter, method, k, seed))
				}
			}
		}
	}
	add(faces, "a", allMethods, []int{mainCodes}, 1)
	add(faces, "a", sweepMethods, []int{mainCodes}, 2, 3)
	add(faces, "c", sweepMethods, lowCodes, 1)
	add(faces, "d", sweepMethods, largeCodes, 1)
	for _, s := range large {
		add(s, "b", largeMethods, []int{mainCodes}, 1)
	}
	return jobs
}
