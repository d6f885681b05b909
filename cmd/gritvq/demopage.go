package main

import (
	"fmt"
	"time"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
)

// demoPage shows the comparison with the courses of all runs.
func demoPage(s *cli.Streams, o demoOptions, results []comparison) *report.Page {
	page := report.New("GRIT and its rivals", fmt.Sprintf("Tokenizers of %s with %s codes, %s steps each on the same machine.", o.data, report.Count(o.codes), report.Count(o.steps)))
	page.Facts(demoFacts(results))
	page.Section("Comparison", "", demoTable(results))
	charts := demoCharts(results)
	page.Section("Training", "Every run saw the same batches.", charts[0], charts[1], charts[2], charts[3])
	page.Section("Reproduce", "", report.Code{Text: s.Command})
	page.Footer(fmt.Sprintf("gritvq %s, %s.", version.String(), time.Now().UTC().Format("2 January 2006")))
	return page
}

// demoCharts draws held-out error, codes in use, perplexity and use by rank of
// all runs.
func demoCharts(results []comparison) [4]report.Chart {
	held := report.LineChart{Title: "Held-out error", Caption: "Relative error with hard codes; lower is better.", XLabel: "step", YLabel: "relative error", LogY: true}
	use := report.LineChart{Title: "Codes in use", Caption: "A line that falls and does not recover is a collapsing codebook.", XLabel: "step", YLabel: "share of codes used (%)", Percent: true}
	perplexity := report.LineChart{Title: "Perplexity", Caption: "The number of equally used codes with the same entropy.", XLabel: "step", YLabel: "codes"}
	rank := report.LineChart{Title: "Share of assignments by rank", Caption: "The flatter the line and the further right it reaches, the better the codes share the work.",
		XLabel: "rank of the code", YLabel: "share of assignments", LogX: true, LogY: true}
	for _, r := range results {
		errors, used, spread := report.Series{Name: r.Name}, report.Series{Name: r.Name}, report.Series{Name: r.Name}
		for _, record := range r.records {
			step := float64(record.Step)
			if record.Held != nil {
				errors.Add(step, record.Held.RelativeError)
			}
			if record.Levels != nil {
				used.Add(step, 100*record.Utilization)
				spread.Add(step, record.Perplexity)
			}
		}
		held.Series, use.Series, perplexity.Series = append(held.Series, errors), append(use.Series, used), append(perplexity.Series, spread)
		rank.Series = append(rank.Series, report.RankSeries(r.Name, r.usage))
	}
	return [4]report.Chart{held, use, perplexity, rank}
}

func demoFacts(results []comparison) []report.Fact {
	var facts []report.Fact
	for _, r := range results {
		facts = append(facts, report.Fact{Name: r.Name, Value: fmt.Sprintf("%.4f", r.RelativeError), Note: "held-out error, " + report.Percent(r.Utilization, 1) + " of codes used"})
	}
	return facts
}
