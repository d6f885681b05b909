package vectors

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/vq"
)

// Name is the stem of the page and its records.
const Name = "vectors"

// reference is the method that others are compared with.
const reference = "rq"

func openPage(dir string) (*table.Page, error) {
	return table.OpenPage(dir, Name, "bench vectors", "Vectors")
}

// Methods lists what is measured by default: classical references first.
func Methods() []string {
	methods := slices.Clone(faissMethods)
	for _, name := range []string{"opq", "rq", "lsq", "ema", "qinco", "grit"} {
		if slices.Contains(vq.MethodNames(), name) {
			methods = append(methods, name)
		}
	}
	return methods
}

func title(method string) string {
	switch method {
	case "faiss-rq-default":
		return "FAISS RQ, beam 5"
	case "faiss-rq":
		return "FAISS RQ, beam 16, refined"
	case "faiss-lsq-default":
		return "FAISS LSQ"
	case "faiss-lsq":
		return "FAISS LSQ, λ 4, 50 x 16"
	}
	return vq.Title(method)
}

// order puts references of other programs first, then classical methods, then trained ones.
func order(method string) int {
	switch at := slices.Index(Methods(), method); {
	case at >= 0:
		return at
	case vq.Classical(method):
		return len(faissMethods)
	}
	return len(Methods())
}

func write(page *table.Page, records []Record) error {
	sizes, cells := map[string]bool{}, map[string][]Record{}
	var methods []string
	key := func(set, method, size string) string { return set + " " + method + " " + size }
	for _, r := range records {
		if r.Failed != "" {
			continue
		}
		size := fmt.Sprintf("%d x %d", r.Levels, r.Codes)
		sizes[size] = true
		cells[key(r.Set, r.Method, size)] = append(cells[key(r.Set, r.Method, size)], r)
		if !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	slices.SortStableFunc(methods, func(a, b string) int { return order(a) - order(b) })
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		at := func(set, method string) []Record { return cells[key(set, method, size)] }
		page.Text("## %s codes\n", size)
		page.Text("Relative error of test rows, mean over seeds; the smallest is bold.\n")
		page.Table(errorTable(methods, at))
		page.Text("Difference from %s in percent of its error, with two standard errors over test rows; * beyond them.\n", title(reference))
		page.Table(differenceTable(methods, at))
		page.Text("Seconds of training.\n")
		page.Table(secondsTable(methods, at))
	}
	page.Text("## Conditions\n")
	page.Text("* A tenth of the rows (of patches: of the pictures) is the test part, the same for all methods and seeds. All others are " +
		"for training; methods that choose settings take their validation rows from these.")
	page.Text("* Error: the sum of |x - x^|^2 over test rows, divided by that of |x - mean|^2 with the mean of the training rows.")
	page.Text("* Standard errors: of the paired difference, over %d groups of test rows (of patches: over pictures), seeds averaged.", folds)
	conditions(page, records)
	return page.Write()
}

func columns() []report.Column {
	list := report.Columns(report.Auto, "")
	for _, s := range sources {
		list = append(list, report.Columns(report.Right, s.title)...)
	}
	return list
}

func mean(records []Record, of func(Record) float64) float64 {
	total := 0.0
	for _, r := range records {
		total += of(r) / float64(len(records))
	}
	return total
}

func errorOf(r Record) float64 { return r.Error }

func errorTable(methods []string, at func(set, method string) []Record) report.Table {
	t := report.Table{Columns: columns()}
	least := map[string]float64{}
	for _, s := range sources {
		for _, m := range methods {
			if records := at(s.name, m); len(records) > 0 {
				if e := mean(records, errorOf); least[s.name] == 0 || e < least[s.name] {
					least[s.name] = e
				}
			}
		}
	}
	for _, m := range methods {
		row := report.Cells(title(m))
		for _, s := range sources {
			records := at(s.name, m)
			cell := report.Cells("")[0]
			if len(records) > 0 {
				e := mean(records, errorOf)
				cell = report.Cells(fmt.Sprintf("%.4f", e))[0]
				cell.Strong = e == least[s.name]
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func differenceTable(methods []string, at func(set, method string) []Record) report.Table {
	t := report.Table{Columns: columns()}
	for _, m := range methods {
		if m == reference {
			continue
		}
		row := report.Cells(title(m))
		for _, s := range sources {
			base := at(s.name, reference)
			text := ""
			if gap, deviation, seeds := difference(at(s.name, m), base); seeds > 0 {
				scale := 100 / mean(base, errorOf)
				text = fmt.Sprintf("%+.1f ± %.1f", scale*gap, 2*scale*deviation)
				if gap > 2*deviation || gap < -2*deviation {
					text += " *"
				}
			}
			row = append(row, report.Cells(text)...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func secondsTable(methods []string, at func(set, method string) []Record) report.Table {
	t := report.Table{Columns: columns()}
	for _, m := range methods {
		row := report.Cells(title(m))
		for _, s := range sources {
			text := ""
			if records := at(s.name, m); len(records) > 0 {
				text = fmt.Sprintf("%.3g", mean(records, func(r Record) float64 { return r.Seconds }))
			}
			row = append(row, report.Cells(text)...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// conditions lists the commands, commits and machines of the records, and what failed.
func conditions(page *table.Page, records []Record) {
	list := func(what string, of func(Record) string) {
		var values []string
		for _, r := range records {
			if v := of(r); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		for _, v := range values {
			page.Text("* %s: %s", what, v)
		}
	}
	list("Command", func(r Record) string { return "`" + r.Command + "`" })
	list("Commit", func(r Record) string { return r.Commit })
	list("Hardware", func(r Record) string { return r.Hardware })
	list("Software", func(r Record) string { return r.Software })
	list("Failed", func(r Record) string {
		if r.Failed == "" {
			return ""
		}
		return r.Cell() + ": " + r.Failed
	})
}
