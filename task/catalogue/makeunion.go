package catalogue

import (
	"net/url"
	"path/filepath"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// finishUnion stores the report and the list of several catalogues. shared is the
// tokenizer of all, or nil.
func (m *maker) finishUnion(r *Result, shared itemEncoder) error {
	var u Union
	var training []vqtrain.Record
	if shared != nil {
		u.Tokenizer, training = shared.origin().identity, shared.origin().training
	}
	for _, s := range m.list {
		u.Catalogues = append(u.Catalogues, s.Name)
	}
	if shared != nil || m.Dense != nil { // codes of different tokenizers cannot be compared
		whole, err := r.join()
		if err != nil {
			return err
		}
		stats := whole.Stats()
		r.Union = &stats
	}
	if err := r.writeReport(training, m.Command); err != nil {
		return err
	}
	return u.Save(m.Output)
}

// join puts the codes of several catalogues into one table, to count what they
// share. Items are called catalogue/item, so that names do not clash.
func (r *Result) join() (*Table, error) {
	var codes []uint32
	var keys []string
	first := r.Catalogues[0].Catalogue
	for _, c := range r.Catalogues {
		for row := range c.Catalogue.Len() {
			codes = append(codes, c.Catalogue.Codes(row)...)
			keys = append(keys, filepath.Base(c.Output)+"/"+c.Catalogue.Key(row))
		}
	}
	return Build(codes, first.vocab[:first.levels], keys, BuildOptions{})
}

// writeReport writes the page of several catalogues.
func (r *Result) writeReport(training []vqtrain.Record, command string) error {
	page := report.New("Semantic IDs of "+report.Counted(len(r.Catalogues), "catalogue"), "Tokenizer: "+r.Catalogues[0].Tokenizer+".")
	note := "Each catalogue has its own table and report, in the directory of its name."
	if r.Union != nil {
		note = "One tokenizer for all. " + note + " The last row counts collisions and codes over all items together."
	}
	if charts := trainingCharts(training); len(charts) > 0 {
		page.Section("Training", "", charts...)
	}
	overview := r.Table()
	for i, c := range r.Catalogues {
		overview.Rows[i][0].Link = (&url.URL{Path: filepath.Base(c.Output) + "/" + ReportFile}).String()
	}
	page.Section("Catalogues", note, overview)
	page.Section("Reproduce", "", report.Code{Caption: "Command", Text: command})
	return page.WriteFile(r.Report)
}
