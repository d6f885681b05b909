package tokenize

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// OverlayOptions name training runs to draw on one page.
type OverlayOptions struct {
	Runs   []string // directories of tokenizers, finished or not, or their logs
	Output string   // .html
}

// Overlaid is a page over several runs.
type Overlaid struct {
	Path string `json:"path"`
	Runs int    `json:"runs"`
}

func (o Overlaid) String() string { return fmt.Sprintf("%s: %d runs", o.Path, o.Runs) }

// overlaidRun is the log of a run and, if it is finished, its tokenizer.
type overlaidRun struct {
	name   string
	course course
	bundle *bundle.Bundle
	config *vqtrain.Config
}

// Overlay writes a page with the courses of several runs in the same charts, their scores and the settings they differ in.
func Overlay(o OverlayOptions) (Overlaid, error) {
	if len(o.Runs) < 2 {
		return Overlaid{}, usage.Errorf("give at least two runs to compare")
	}
	if dataset.Extension(o.Output) != ".html" {
		return Overlaid{}, usage.Errorf("%s: a page is written as .html", o.Output)
	}
	var runs []overlaidRun
	for i, path := range o.Runs {
		if err := output.Check(path, o.Output); err != nil {
			return Overlaid{}, err
		}
		run, err := openRun(path)
		if err != nil {
			return Overlaid{}, err
		}
		if slices.ContainsFunc(runs, func(r overlaidRun) bool { return r.name == run.name }) {
			run.name = fmt.Sprintf("%s (%d)", path, i+1)
		}
		runs = append(runs, run)
	}
	page, err := overlayPage(runs)
	if err == nil {
		err = page.WriteFile(o.Output)
	}
	return Overlaid{o.Output, len(runs)}, err
}

// openRun reads a run. An unfinished one has a log and no tokenizer.
func openRun(path string) (run overlaidRun, err error) {
	run.name = filepath.Base(filepath.Clean(path))
	log := path
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		log = filepath.Join(path, bundle.LogFile)
		if state, err := bundle.Kind.State(path); err == nil && state == artifact.Finished {
			if run.bundle, err = bundle.Load(path); err != nil {
				return run, err
			}
			c, err := vqtrain.ReadConfig(run.bundle.Config)
			if err != nil {
				return run, fmt.Errorf("%s: %w", path, err)
			}
			run.config = &c
		}
	}
	records, err := vqtrain.ReadLog(log)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return run, fmt.Errorf("%s has no training log (%s); name the directory of gritvq train, or its log", path, bundle.LogFile)
	case err != nil:
		return run, err
	case len(records) == 0 || records[len(records)-1].Phase == "":
		return run, fmt.Errorf("%s is no log of a tokenizer's training", log)
	}
	run.course = records
	return run, nil
}

func overlayPage(runs []overlaidRun) (*report.Page, error) {
	var names []string
	for _, r := range runs {
		names = append(names, r.name)
	}
	page := report.New("Runs: "+strings.Join(names, ", "), "Training runs of tokenizers on one page.")
	page.Section("Scores", "On the held-out data of each run. Compare errors of runs with the same data only.", overlayScores(runs))
	page.Section("Training", "Runs with errors that fall faster and end lower are better.", overlayCharts(runs)...)
	settings, err := overlaySettings(runs)
	if err == nil && settings != nil {
		page.Section("Settings", "Those in which the finished runs differ.", *settings)
	}
	return page, err
}

// overlayCharts draw a score of all runs each, where any run has it.
func overlayCharts(runs []overlaidRun) (charts []report.Part) {
	held := func(value func(h *vqtrain.HeldRecord) float64) func(c course) report.Series {
		return func(c course) report.Series {
			return c.series("", func(r vqtrain.Record) (float64, bool) {
				if r.Held == nil || value(r.Held) == 0 {
					return 0, false
				}
				return value(r.Held), true
			})
		}
	}
	for _, chart := range []struct {
		title, caption, label string
		log, percent          bool
		of                    func(c course) report.Series
	}{
		{"Held-out error", "1 is answering with the mean.", "relative error", true, false,
			held(func(h *vqtrain.HeldRecord) float64 { return h.RelativeError })},
		{"Held-out PSNR", "Higher is better; 3 dB halve the squared error.", "dB", false, false,
			held(func(h *vqtrain.HeldRecord) float64 { return h.PSNR })},
		{"Training error", "Mean squared error in the units that networks see.", "error", true, false,
			func(c course) report.Series { return c.loss("") }},
		{"Codes in use", "By recent batches.", "share of codes used (%)", false, true,
			func(c course) report.Series { return c.window("", utilization) }},
		{"Perplexity", "The number of equally used codes with the same entropy.", "codes", false, false,
			func(c course) report.Series {
				return c.window("", func(r vqtrain.Record) float64 { return r.Perplexity })
			}},
	} {
		drawn := report.LineChart{Title: chart.title, Caption: chart.caption, XLabel: "step", YLabel: chart.label, LogY: chart.log,
			Percent: chart.percent}
		for _, r := range runs {
			if s := chart.of(r.course); len(s.X) > 0 {
				s.Name = r.name
				drawn.Series = append(drawn.Series, s)
			}
		}
		if len(drawn.Series) > 0 {
			charts = append(charts, drawn)
		}
	}
	return charts
}

// overlayScores has a row a run; an unfinished one shows its last record.
func overlayScores(runs []overlaidRun) report.Table {
	t := report.Table{Columns: append(report.Columns(report.Left, "run", "method", "data"),
		report.Columns(report.Right, "steps", "held-out error", "PSNR (dB)", "codes used", "perplexity", "training time")...)}
	number := func(x float64) string {
		if x == 0 {
			return ""
		}
		return report.Number(x, 4)
	}
	for _, r := range runs {
		last := r.course[len(r.course)-1]
		row := report.Cells(r.name, "", "unfinished", report.Count(last.Step), "", "", report.Percent(last.Utilization, 1),
			number(last.Perplexity), "")
		if b := r.bundle; b != nil {
			m := b.Manifest
			row[1].Text, row[2].Text, row[3].Text = r.config.Quantizer.Method, m.Data.Name, report.Count(m.Training.Steps)
			held, train := m.Metrics.Results()
			if held == nil {
				held = train
			}
			s, use := held.Summary(), held.Use()
			row[4].Text, row[5].Text = number(s.RelativeError), number(s.PSNR)
			row[6].Text, row[7].Text = report.Percent(use.Utilization.Mean, 1), number(use.Perplexity.Mean)
			row[8].Text = report.Duration(time.Duration(m.Training.Seconds * float64(time.Second)).Round(100 * time.Millisecond))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// overlaySettings lists the settings in which finished runs differ; nil if they do not.
func overlaySettings(runs []overlaidRun) (*report.Table, error) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r overlaidRun) bool { return r.config == nil })
	var keys []string
	t := &report.Table{Columns: report.Columns(report.Left, "setting")}
	for i, r := range runs {
		t.Columns = append(t.Columns, report.Column{Name: r.name, Align: report.Left})
		differ, err := config.Differences(*runs[0].config, *runs[i].config)
		if err != nil {
			return nil, err
		}
		for _, key := range differ {
			if !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	for _, key := range keys {
		row := report.Cells(key)
		for _, r := range runs {
			value, err := config.Get(*r.config, key)
			if err != nil {
				return nil, err
			}
			row = append(row, report.Cell{Text: value})
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}
