package table

import (
	"os"
	"strings"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

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
	if err := WriteLines(page.Path(".jsonl"), runs.All); err != nil {
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
