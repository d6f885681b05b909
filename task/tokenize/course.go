package tokenize

import (
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
)

type course []vqtrain.Record

// series collects the values of a score from the records that have it.
func (c course) series(name string, value func(r vqtrain.Record) (y float64, ok bool)) report.Series {
	s := report.Series{Name: name}
	for _, r := range c {
		if y, ok := value(r); ok {
			s.Add(float64(r.Step), y)
		}
	}
	return s
}

func (c course) held(name string, value func(h *vqtrain.HeldRecord) float64) report.Series {
	return c.series(name, func(r vqtrain.Record) (float64, bool) {
		if r.Held == nil {
			return 0, false
		}
		return value(r.Held), true
	})
}

// window collects a score over recent batches.
func (c course) window(name string, value func(r vqtrain.Record) float64) report.Series {
	return c.series(name, func(r vqtrain.Record) (float64, bool) { return value(r), r.Levels != nil })
}

func (c course) loss(name string) report.Series {
	return c.series(name, func(r vqtrain.Record) (float64, bool) { return r.Reconstruction, true })
}

// chart draws series over the steps and marks where codes were placed.
func (c course) chart(title, caption, label string, series ...report.Series) report.LineChart {
	chart := report.LineChart{Title: title, Caption: caption, XLabel: "step", YLabel: label, Series: series}
	for i, r := range c {
		if i > 0 && c[i-1].Phase != r.Phase {
			chart.Marks = append(chart.Marks, report.Mark{X: float64(r.Step), Label: "codes placed"})
		}
	}
	return chart
}

// errors is a chart of errors, on a logarithmic scale.
func (c course) errors(title, caption, label string, series ...report.Series) report.LineChart {
	chart := c.chart(title, caption, label, series...)
	chart.LogY = true
	return chart
}

// use charts shares of codes, with held-out use if it was taken more than once.
func (c course) use(title, caption, label, held string, series ...report.Series) report.LineChart {
	if s := c.held(held, func(h *vqtrain.HeldRecord) float64 { return 100 * h.Utilization }); len(s.X) > 1 {
		series = append(series, s)
	}
	chart := c.chart(title, caption, label, series...)
	chart.Percent = true
	return chart
}

func (c course) perplexity() report.LineChart {
	return c.chart("Perplexity", "The number of equally used codes with the same entropy.", "codes",
		c.window("recent batches", func(r vqtrain.Record) float64 { return r.Perplexity }))
}
