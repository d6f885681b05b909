package prior

import (
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train"
)

// page is the training report.
func (r *run) page(p *Prior) (*report.Page, error) {
	records, err := train.ReadLog[train.Record](filepath.Join(r.Dir, train.LogFile))
	if err != nil {
		return nil, err
	}
	m := p.Manifest
	page := report.New("Training report: prior of "+m.Data.Name, fmt.Sprintf("%s, %s of %s codes", p.Model,
		report.Counted(m.Data.TrainRows, "training row"), report.Count(p.Model.Layout.Tokens())))
	if v := m.Validation; v != nil {
		page.Facts([]report.Fact{
			{Name: "bits a token", Value: report.Number(v.BitsPerToken, 4), Note: fmt.Sprintf("on %s", report.Counted(v.Pictures, "held-out row"))},
			{Name: "perplexity", Value: report.Number(v.Perplexity, 4), Note: "as hard as so many equal codes"},
			{Name: "neighbour model", Value: report.Number(v.Reference.Neighbour, 4), Note: "bits a token, for comparison"},
			{Name: "code frequencies", Value: report.Number(v.Reference.Unigram, 4), Note: "bits a token, for comparison"},
		})
	}
	took := time.Duration(m.Training.Seconds * float64(time.Second))
	page.Facts([]report.Fact{{Name: "training time", Value: report.Duration(took.Round(time.Millisecond)),
		Note: report.Counted(m.Training.Steps, "step")}})
	loss, held := report.Series{Name: "training batches"}, report.Series{Name: "validation rows"}
	rate := report.Series{Name: "rate"}
	for _, record := range records {
		loss.Add(float64(record.Step), record.Loss/math.Ln2)
		rate.Add(float64(record.Step), record.Rate)
		if nll, ok := record.Scores["nll"]; ok {
			held.Add(float64(record.Step), nll/math.Ln2)
		}
	}
	chart := report.LineChart{Title: "Bits a token", XLabel: "step", YLabel: "bits", Series: []report.Series{loss},
		Caption: "Validation bits that rise while those of training batches fall mean overfitting: the weights of the lowest are kept."}
	if len(held.X) > 0 {
		chart.AddSeries(held)
	}
	page.Section("Training", "The negative log-likelihood of the codes; dropout is on in training batches.", chart,
		report.LineChart{Title: "Learning rate", XLabel: "step", YLabel: "rate", Series: []report.Series{rate}})
	if m.Validation != nil {
		page.Section("Scores", "Of the held-out rows.", m.Validation.Table("validation"))
	}
	rendered, err := config.Render(p.Config)
	if err != nil {
		return nil, err
	}
	page.Section("Reproduce", "The run is determined by its data, its settings and its seed.",
		report.Code{Caption: "Command", Text: m.Command}, report.Code{Caption: "Settings", Text: string(rendered)})
	page.Footer(fmt.Sprintf("%s, %s. Data %s.", m.CreatedBy, m.Created.Format("2 January 2006 15:04 MST"), m.Data.Fingerprint))
	return page, nil
}
