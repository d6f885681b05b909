package prior

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/gritvq/gritvq/report"
)

// Summary describes a trained prior: as text, and as JSON.
type Summary struct {
	Manifest
	SHA256 string `json:"model_sha256"`

	dir string
}

// Summary returns the description of the prior.
func (p *Prior) Summary() Summary {
	model, _ := p.Manifest.File(ModelFile)
	return Summary{p.Manifest, model.SHA256, p.dir}
}

// String implements fmt.Stringer.
func (s Summary) String() string {
	took := time.Duration(s.Training.Seconds * float64(time.Second))
	text := fmt.Sprintf("time:   %s for %s\nreport: %s", report.Duration(took), report.Counted(s.Training.Steps, "step"),
		filepath.Join(s.dir, ReportFile))
	if v := s.Validation; v != nil {
		text = fmt.Sprintf("%s\n%s\n\n%s", v.table("validation"), text, v.ReferenceLine())
	}
	return text
}

// String implements fmt.Stringer.
func (s *Scores) String() string { return s.table("value") + "\n" + s.ReferenceLine() }

// table is Table as text.
func (s *Scores) table(name string) string {
	var text strings.Builder
	_ = s.Table(name).Text(&text) // a builder takes everything
	return text.String()
}

// Table lists the scores in a column of the given name.
func (s *Scores) Table(name string) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "score"}, {Name: name, Align: report.Right}}}
	add := func(score string, value float64) {
		if !math.IsNaN(value) {
			t.Rows = append(t.Rows, report.Cells(score, report.Number(value, 4)))
		}
	}
	add("negative log-likelihood, nats a token", s.NLL)
	add("bits a token", s.BitsPerToken)
	add("perplexity", s.Perplexity)
	if math.IsNaN(s.BitsPerPixel) {
		add("bits a row", s.BitsPerImage)
	} else {
		add("bits a picture", s.BitsPerImage)
		add("bits a pixel", s.BitsPerPixel)
	}
	if len(s.NLLByLevel) > 1 {
		for level, nll := range s.NLLByLevel {
			add(fmt.Sprintf("bits a token of level %d", level+1), nll/math.Ln2)
		}
	}
	t.Rows = append(t.Rows, report.Cells("tokens", report.Count(s.Tokens)))
	return t
}

// ReferenceLine compares the prior with the classical model, and says what helps one that is not better.
func (s *Scores) ReferenceLine() string {
	name, bits := "neighbour model", s.Reference.Neighbour
	if math.IsNaN(bits) {
		name, bits = "code frequencies", s.Reference.Unigram
	}
	text := fmt.Sprintf("%s: %s bits a token; this prior: %s", name, report.Number(bits, 3), report.Number(s.BitsPerToken, 3))
	if s.BitsPerToken >= bits {
		text += "\nundertrained: the prior predicts codes no better than a classical model; train it for more --steps, or on more pictures"
	}
	return text
}
