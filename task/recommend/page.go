package recommend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/train"
)

const (
	exampleQuestions = 6 // on a page, evenly spaced
	exampleHistory   = 5 // items of each
	exampleAnswers   = 5
)

// writePage writes a page about the model in dir: scores, the course of training and examples of the part's questions; with
// an evaluation also the references and the cold items.
func (r *Recommender) writePage(ctx context.Context, path, dir string, d *Dataset, part Part, ranker Ranker, e *Evaluation) error {
	m := r.Manifest
	page := report.New(fmt.Sprintf("%s: %s", filepath.Base(filepath.Clean(dir)), r.Model), fmt.Sprintf("Scored by: %s.", d.protocol()))
	facts := []report.Fact{{Name: "items", Value: report.Count(r.Catalogue.Len())},
		{Name: d.purpose.questions, Value: report.Count(len(d.cases[part])), Note: "asked for " + string(part)},
		{Name: "examples", Value: report.Count(d.Examples()), Note: "for training"}}
	if m.Seconds > 0 {
		facts = append(facts, report.Fact{Name: "time",
			Value: report.Duration(time.Duration(m.Seconds * float64(time.Second))), Note: "of training"})
	}
	page.Facts(facts)
	scores := []report.Part{ScoreTable("validation", m.Validation)}
	if e != nil {
		scores = append([]report.Part{ScoreTable("test", e.Scores)}, scores...)
	}
	page.Section("Scores", "Recall, NDCG and MRR over the whole catalogue.", scores...)
	if e != nil && len(e.References) > 0 {
		note := "Models that count, on the same questions."
		if e.Below != "" {
			note += " Warning: " + e.Below + "."
		}
		page.Section("References", note, e.ReferenceTable())
	}
	if e != nil && e.Cold != nil {
		page.Section("Cold items", fmt.Sprintf("%s whose answers occur at most %s in training.",
			report.Count(e.ColdQuestions), report.Counted(e.ColdAt, "time")), ScoreTable("cold", e.Cold))
	}
	curves, err := learningCurves(dir)
	if err != nil {
		return err
	}
	if len(curves) > 0 {
		page.Section("Learning", "Of training examples, and of validation questions while training.", curves...)
	}
	examples, err := r.examples(ctx, d, part, ranker)
	if err != nil {
		return err
	}
	page.Section("Examples", "The last items or the text, what was to be found, and what the model finds first.", examples)
	page.Section("Reproduce", "", report.Code{Caption: "Command", Text: m.Command})
	page.Footer(version.CreatedBy() + ".")
	return page.WriteFile(path)
}

// learningCurves draws the log of a run; models that count have none.
func learningCurves(dir string) ([]report.Part, error) {
	records, err := train.ReadLog[train.Record](filepath.Join(dir, train.LogFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(records) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	loss, scores := report.Series{Name: "loss"}, map[string]*report.Series{}
	names := []string{"recall@10", "ndcg@10"}
	for _, name := range names {
		scores[name] = &report.Series{Name: name}
	}
	for _, record := range records {
		loss.X, loss.Y = append(loss.X, float64(record.Step)), append(loss.Y, record.Loss)
		for _, name := range names {
			if value, ok := record.Scores[name]; ok {
				scores[name].X, scores[name].Y = append(scores[name].X, float64(record.Step)), append(scores[name].Y, value)
			}
		}
	}
	parts := []report.Part{report.LineChart{Title: "Loss", XLabel: "step", YLabel: "loss", Series: []report.Series{loss}}}
	if len(scores[names[0]].X) > 0 {
		chart := report.LineChart{Title: "Validation", XLabel: "step", YLabel: "score", FromZero: true}
		for _, name := range names {
			chart.Series = append(chart.Series, *scores[name])
		}
		parts = append(parts, chart)
	}
	return parts, nil
}

// examples asks some questions of a part.
func (r *Recommender) examples(ctx context.Context, d *Dataset, part Part, ranker Ranker) (report.Table, error) {
	cases := d.Cases(part, exampleQuestions)
	lists, err := ranker.Top(ctx, questionsOf(cases), exampleAnswers)
	if err != nil {
		return report.Table{}, err
	}
	t := report.Table{Columns: []report.Column{{Name: "user"}, {Name: "last items"}, {Name: "wanted"}, {Name: "found"}}}
	if d.purpose == Searching {
		t.Columns = []report.Column{{Name: "search"}, {Name: "text"}, {Name: "wanted"}, {Name: "found"}}
	}
	for i, c := range cases {
		asked := c.Text
		if d.purpose == Recommending {
			asked = labels(r.Catalogue, c.History[max(0, len(c.History)-exampleHistory):])
		}
		var found []int32
		for _, answer := range lists[i] {
			found = append(found, answer.Item)
		}
		t.Rows = append(t.Rows, report.Cells(c.Name, asked, labels(r.Catalogue, c.Relevant), labels(r.Catalogue, found)))
	}
	return t, nil
}

// labels are the titles of items, or their names.
func labels(c *catalogue.Catalogue, rows []int32) string {
	var list []string
	for _, row := range rows[:min(len(rows), exampleAnswers)] {
		label := "item " + c.Key(int(row))
		if c.Items != nil && c.Items.Len() > 0 {
			label = c.Label(int(row))
		}
		list = append(list, label)
	}
	return strings.Join(list, " · ")
}

// trainPage writes the page of a model that was trained; its ranker knows no more than validation.
func (r *Recommender) trainPage(ctx context.Context, dir string, d *Dataset, ranker Ranker) error {
	return r.writePage(ctx, filepath.Join(dir, catalogue.ReportFile), dir, d, ValidationPart, ranker, nil)
}
