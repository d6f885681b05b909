// Package table turns the records of experiments into statistics, tables, figures and pages.
//
// A [Record] holds the scores of one run. Records of one method and one setting form a [Group]; its score is
// the mean over seeds, with the sample standard deviation. A [Measure] says how a score reads and which values
// are good, and a [Layout] arranges groups in tables. A [Page] is a document whose tables are made from a file
// of [Run] lines.
//
// # The tie rule
//
// All tables compare methods in the same way. The best mean of a column is bold, as is every mean that reads
// the same, unless all means read the same. Another method is tied with the best, marked with =, unless the
// seeds that both have show it to be worse:
//
//   - With three or more common seeds, it is worse if the 95 % interval of the paired t test lies on the worse side of 0.
//   - With one or two, whose interval would hide all but huge differences, it is worse if the mean difference exceeds
//     both the measure's resolution and the typical deviation over seeds: the root mean square of the deviations in the
//     column, or 0 if every method has one seed.
//   - Without a common seed there is no comparison, and no tie.
package table

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// Legend explains the marks of a table, for readers of a page.
const Legend = `Means over seeds ± standard deviations; **best**, and = tied with it: not shown to be worse on the seeds that both have, by
the interval of the paired t test for three seeds or more, otherwise by a difference above the typical deviation over seeds in the table.`

// Page is a Markdown document with tables and figures. The text above its mark is written by people and stays.
type Page struct {
	dir    string
	name   string // NAME.jsonl holds the records, NAME.md the tables
	mark   string // where the generated part begins
	head   string // the text above it
	text   bytes.Buffer
	err    error                       // the first
	Charts map[string]report.LineChart // the figures by the names of their files
}

// OpenPage opens the page dir/name.md, which command makes; a new one begins with the title.
func OpenPage(dir, name, command, title string) (*Page, error) {
	p := &Page{dir: dir, name: name, mark: "<!-- made by " + command + ": everything below is replaced -->", head: "# " + title + "\n\n"}
	before, err := os.ReadFile(p.Path(".md"))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, err
	}
	head, _, marked := strings.Cut(string(before), p.mark)
	if !marked {
		return nil, fmt.Errorf("%s was not made by %s; insert the line %q above the tables, or choose another directory",
			p.Path(".md"), command, p.mark)
	}
	p.head = head
	return p, nil
}

// Path is a file of the page, such as its records with ending .jsonl.
func (p *Page) Path(ending string) string { return filepath.Join(p.dir, p.name+ending) }

// Text adds a line.
func (p *Page) Text(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

// Table adds a table.
func (p *Page) Table(t report.Table) {
	p.err = cmp.Or(p.err, t.Markdown(&p.text))
	p.Text("")
}

// Figure adds a chart with its file name, or says that nothing was measured.
func (p *Page) Figure(file, title string, chart report.LineChart) {
	if !slices.ContainsFunc(chart.Series, func(s report.Series) bool { return len(s.X) > 0 }) {
		p.Text("%s: not measured yet.\n", title)
		return
	}
	if p.Charts == nil {
		p.Charts = map[string]report.LineChart{}
	}
	p.Charts[file] = chart
	p.Text("![%s](%s)\n", title, file)
}

// Commands adds the commands of the runs to a page, with their rows.
func Commands[R Run](p *Page, runs []R, name func(method string) string) {
	rows := map[string][]string{}
	var order []string
	for _, r := range runs {
		a := r.About()
		if rows[a.Command] == nil {
			order = append(order, a.Command)
		}
		if row := name(a.Method); !slices.Contains(rows[a.Command], row) {
			rows[a.Command] = append(rows[a.Command], row)
		}
	}
	for _, command := range order {
		who := "all methods"
		if len(order) > 1 {
			who = strings.Join(rows[command], ", ")
		}
		p.Text("* `%s` (%s)", command, who)
	}
	if len(order) > 0 {
		p.Text("")
	}
}

// String is the generated part of the page.
func (p *Page) String() string { return p.text.String() }

// Write stores the figures and replaces the generated part of the page.
func (p *Page) Write() error {
	if p.err != nil {
		return p.err
	}
	for _, file := range slices.Sorted(maps.Keys(p.Charts)) {
		err := atomicfile.Write(filepath.Join(p.dir, file), func(w io.Writer) error { return report.WriteSVG(w, p.Charts[file]) })
		if err != nil {
			return err
		}
	}
	return atomicfile.Write(p.Path(".md"), func(w io.Writer) error {
		_, err := io.WriteString(w, p.head+p.mark+"\n\n"+p.text.String())
		return err
	})
}

// Document makes a [Page] from a file of runs.
type Document[R Run] struct {
	Name    string // of the page NAME.md, its runs NAME.jsonl and its figures
	Command string // that writes it
	Title   string // of a new page
	Letters string // of the tables
	Fill    func(*Page, *Runs[R]) error
}

// Write adds the runs of files to those in dir and writes the tables and figures of all of them there.
func (d Document[R]) Write(files []string, dir string, watch task.Watcher) error {
	page, err := OpenPage(dir, d.Name, d.Command, d.Title)
	if err != nil {
		return err
	}
	runs, err := readRuns[R](page.Path(".jsonl"), files)
	if err != nil {
		return err
	}
	if err := runs.distinct(d.Letters); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := d.Fill(page, runs); err != nil {
		return err
	}
	if unused := runs.unused(); len(unused) > 0 {
		watch.Remark("in no table: %s", strings.Join(unused, ", "))
	}
	if err := atomicfile.WriteJSON(page.Path(".jsonl"), "", runs.All...); err != nil {
		return err
	}
	return page.Write()
}

// CourseLine draws a column of a run's course over its first column, the step.
func CourseLine(name string, course [][]*float64, column int, scale float64) report.Series {
	line := report.Series{Name: name}
	for _, moment := range course {
		if value := moment[column]; value != nil {
			line.X, line.Y = append(line.X, *moment[0]), append(line.Y, scale**value)
		}
	}
	return line
}

// FindRow returns the first row of a Markdown table below the heading that begins with the given cells, by the
// names of its columns.
func FindRow(page, heading string, begins ...string) (map[string]string, error) {
	_, section, found := strings.Cut(page, heading+"\n")
	if !found {
		return nil, fmt.Errorf("the page has no heading %q", heading)
	}
	var names []string
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if names == nil {
			names = cells
		}
		if len(cells) < len(begins) || !slices.Equal(cells[:len(begins)], begins) {
			continue
		}
		if len(cells) != len(names) {
			return nil, errors.New("a row has more or fewer cells than its head: " + line)
		}
		row := map[string]string{}
		for i, name := range names {
			row[name] = cells[i]
		}
		return row, nil
	}
	return nil, fmt.Errorf("%s has no row of %q", heading, begins)
}
