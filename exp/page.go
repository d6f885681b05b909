package exp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/report"
)

// Page draws the comparison: the table, errors with their spread, rate and
// distortion where several sizes of code were compared, and, for the largest of
// them, the course of training, the use of the codes and the errors by row.
func (r *Results) Page() *report.Page {
	set := r.Settings
	page := report.New("Quantizers compared: "+r.Data.Name, r.subtitle())
	page.Facts(r.facts())
	comparison := []report.Part{Table(r.Methods, true)}
	for _, failure := range Failures(r.Methods) {
		comparison = append(comparison, report.Paragraph(failure+"."))
	}
	page.Section("Comparison", "Every method had the same rows, bits, network, batches and steps, and its own best practice; classical methods are fitted to the vectors themselves.",
		comparison...)
	page.Section("Errors", "", r.errorCharts()...)
	if len(set.Points) > 1 {
		page.Section("Rate and distortion", "Lower and further left is better.", rateCharts(r.Methods)...)
	}
	last := r.largest()
	if len(last) > 0 {
		size := ""
		if len(set.Points) > 1 {
			size = ", " + last[0].Point.String() + " codes"
		}
		if charts := courseCharts(last); len(charts) > 0 {
			page.Section("Training"+size, fmt.Sprintf("With seed %d. Methods that take no training steps do not show.", last[0].records[0].Seed), charts...)
		}
		page.Section("Codes"+size, "A healthy codebook uses every code, and none of them for most of the data. Rows of the whole file, first code of a vector.", codeCharts(last)...)
	}
	page.Section("Reproduce", "A comparison is determined by its data, settings and seeds. The files in cells/ hold the settings of every method.", report.Code{Text: r.Command})
	page.Footer(fmt.Sprintf("%s, %s. Data %s.", r.CreatedBy, r.Created.Format("2 January 2006 15:04 MST"), r.Data.Fingerprint))
	return page
}

func (r *Results) subtitle() string {
	set := r.Settings
	network := "on the vectors themselves"
	if len(set.Network) > 1 {
		widths := make([]string, len(set.Network))
		for i, w := range set.Network {
			widths[i] = strconv.Itoa(w)
		}
		network = "network " + strings.Join(widths, "-")
	}
	seeds := "1 seed"
	if len(set.Seeds) > 1 {
		seeds = fmt.Sprintf("%d seeds", len(set.Seeds))
	}
	return fmt.Sprintf("%s vectors of dimension %d, %s of them held out; %s steps of %s vectors, %s, %s.",
		report.Count(r.Data.Rows), r.Data.Dim, report.Count(r.Data.HeldRows), report.Count(set.Steps), report.Count(set.Batch), network, seeds)
}

// facts name the best method of every point, the last five.
func (r *Results) facts() []report.Fact {
	var facts []report.Fact
	for _, s := range r.Methods {
		if !s.Best {
			continue
		}
		name := "best"
		if len(r.Settings.Points) > 1 {
			name = "best at " + s.Point.String()
		}
		note := "held-out error " + spread(s.RelativeError, 4)
		if ties := tiedWith(r.Methods, s); len(ties) > 0 {
			tied := ", tied with "
			if len(r.Settings.Seeds) == 2 { // their intervals hide all but huge differences
				tied = ", which two seeds cannot tell from "
			}
			note += tied + strings.Join(ties, ", ")
		}
		facts = append(facts, report.Fact{Name: name, Value: s.Method, Note: note})
	}
	return facts[max(0, len(facts)-5):]
}

func tiedWith(all []Summary, best Summary) []string {
	var names []string
	for _, s := range all {
		if s.Tied && s.Point == best.Point {
			names = append(names, s.Method)
		}
	}
	return names
}

// largest returns the methods that worked at the point of most bits.
func (r *Results) largest() []Summary {
	var most []Summary
	for _, s := range r.Methods {
		switch {
		case s.Error != "":
		case len(most) == 0 || s.Point.Bits() > most[0].Point.Bits():
			most = []Summary{s}
		case s.Point == most[0].Point:
			most = append(most, s)
		}
	}
	return most
}

// errorCharts draws the error and the recall of every method, point by point.
func (r *Results) errorCharts() []report.Part {
	var parts []report.Part
	for _, p := range r.Settings.Points {
		title := ""
		if len(r.Settings.Points) > 1 {
			title = ", " + p.String() + " codes"
		}
		errors := report.GroupedBars{Title: "Held-out error" + title, Caption: "Lower is better; bars are standard deviations over seeds.", YLabel: "relative error", Points: true, Series: []report.BarSeries{{}}}
		recall := report.GroupedBars{Title: "Recall@10" + title, Caption: "Higher is better: decoded vectors keep their neighbours.", YLabel: "recall@10", Points: true, Series: []report.BarSeries{{}}}
		for _, s := range r.Methods {
			if s.Point != p || s.Error != "" {
				continue
			}
			addBar(&errors, s.Method, s.RelativeError)
			addBar(&recall, s.Method, s.Recall)
		}
		if len(errors.Groups) > 0 {
			parts = append(parts, errors, recall)
		}
	}
	if len(parts) == 0 {
		parts = append(parts, report.Paragraph("No method worked."))
	}
	return parts
}

func addBar(c *report.GroupedBars, name string, s Stat) {
	deviation := s.Std
	if math.IsNaN(deviation) {
		deviation = 0
	}
	c.Groups = append(c.Groups, name)
	c.Series[0].Values, c.Series[0].Errors = append(c.Series[0].Values, s.Mean), append(c.Series[0].Errors, deviation)
}
