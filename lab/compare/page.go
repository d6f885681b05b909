package compare

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/gritvq/gritvq/report"
)

// Page draws the comparison.
func (r *Results) Page() (*report.Page, error) {
	k, set := r.Kind, r.Settings
	page := report.New(cmp.Or(r.Title, "Quantizers compared: "+r.Data.Name), r.subtitle())
	page.Facts(r.facts())
	comparison := []report.Part{k.Table(r.Methods, true)}
	for _, failure := range Failures(r.Methods) {
		comparison = append(comparison, report.Paragraph(failure+"."))
	}
	for _, note := range Notes(r.Methods) {
		comparison = append(comparison, report.Paragraph(note))
	}
	page.Section("Comparison", k.fairness, comparison...)
	last, size := r.largest(), ""
	if len(last) > 0 && len(set.Points) > 1 {
		size = ", " + last[0].Point.String() + " codes"
	}
	figure, drawn, err := sampleFigure(last)
	if err != nil {
		return nil, err
	}
	if drawn {
		page.Section("Pictures"+size, "Held-out pictures and the reconstructions of each method.", figure)
	}
	page.Section("Scores", "", r.scoreCharts()...)
	if len(set.Points) > 1 {
		page.Section("Rate and distortion", "How the methods use more codes.", k.rateCharts(r.Methods)...)
	}
	if len(last) > 0 {
		if charts := k.courseCharts(last); len(charts) > 0 {
			page.Section("Training"+size, fmt.Sprintf("With seed %d. Methods that take no training steps do not show.", last[0].Seeds[0]), charts...)
		}
		page.Section("Codes"+size, k.healthy, codeCharts(last)...)
	}
	page.Section("Reproduce", "A comparison is determined by its data, settings and seeds. "+
		"The files in cells/ hold the settings of every method.", report.Code{Text: r.Command})
	page.Footer(fmt.Sprintf("%s, %s. Data %s.", r.CreatedBy, r.Created.Format("2 January 2006 15:04 MST"), r.Data.Fingerprint))
	return page, nil
}

// HeldChart draws the held-out score over training, at the largest size of code.
func (r *Results) HeldChart() report.LineChart { return r.Kind.heldChart(r.largest()) }

func (r *Results) subtitle() string {
	set, shape := r.Settings, fmt.Sprintf("of dimension %d", r.Data.Dim)
	if r.Data.Size > 0 {
		shape = fmt.Sprintf("of %d x %d pixels", r.Data.Size, r.Data.Size)
	}
	network := "on the vectors themselves"
	if len(set.Network) > 1 {
		network = "network " + strings.Trim(strings.ReplaceAll(fmt.Sprint(set.Network), " ", "-"), "[]")
	}
	return fmt.Sprintf("%s %s %s to learn from, %s held out; %s steps of %s %s, %s, %s.", report.Count(r.Data.TrainRows), r.Kind.Items, shape,
		report.Count(r.Data.HeldRows), report.Count(set.Steps), report.Count(set.Batch), r.Kind.Items, network,
		report.Counted(len(set.Seeds), "seed"))
}

func (r *Results) facts() []report.Fact {
	var facts []report.Fact
	for _, s := range r.Methods {
		if !s.Best() {
			continue
		}
		name := "best"
		if len(r.Settings.Points) > 1 {
			name = "best at " + s.Point.String()
		}
		note := r.Kind.decided(s.Score(r.Kind.Decides)) + ", held out"
		separator := ", tied with "
		for _, other := range r.Methods {
			if other.Tied() && other.Point == s.Point {
				note += separator + other.Method
				separator = ", "
			}
		}
		facts = append(facts, report.Fact{Name: name, Value: s.Method, Note: note})
	}
	return facts[max(0, len(facts)-5):]
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

func (r *Results) scoreCharts() []report.Part {
	var parts []report.Part
	for _, at := range r.Settings.Points {
		title := ""
		if len(r.Settings.Points) > 1 {
			title = ", " + at.String() + " codes"
		}
		for _, p := range r.Kind.Charts {
			chart := report.PointChart{Title: p.Title + title, Caption: p.Caption, YLabel: p.Label}
			for _, s := range r.Methods {
				if score := s.Score(p.Measure); score.N > 0 && s.Point == at {
					chart.Groups = append(chart.Groups, s.Method)
					chart.Values, chart.Errors = append(chart.Values, score.Mean), append(chart.Errors, spread(score))
				}
			}
			if len(chart.Groups) > 0 {
				parts = append(parts, chart)
			}
		}
	}
	if len(parts) == 0 {
		parts = append(parts, report.Paragraph("No method worked."))
	}
	return parts
}
