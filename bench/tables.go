package main

import (
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
)

// resultPage is a page of tables and the file of runs that it is made of.
type resultPage struct {
	dir  string
	name string // NAME.jsonl holds the runs, NAME.md the tables
	mark string // where the generated part begins
	head string // what people wrote above it, which is kept
}

// openPage finds the page of a directory; a new one begins with the title. flag
// is that of bench which makes it.
func openPage(dir, name, flag, title string) (resultPage, error) {
	p := resultPage{dir: dir, name: name, mark: "<!-- made by bench " + flag + ": what follows is replaced -->", head: "# " + title + "\n\n"}
	before, err := os.ReadFile(p.path(".md"))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	head, _, marked := strings.Cut(string(before), p.mark)
	if !marked {
		return p, fmt.Errorf("%s was not made by %s; put the line %q where the tables are to be, or choose another -out", p.path(".md"), flag, p.mark)
	}
	p.head = head
	return p, nil
}

func (p resultPage) path(ending string) string { return filepath.Join(p.dir, p.name+ending) }

// write replaces the generated part of the page.
func (p resultPage) write(generated string) error {
	return atomicfile.Write(p.path(".md"), func(w io.Writer) error {
		_, err := io.WriteString(w, p.head+p.mark+"\n\n"+generated)
		return err
	})
}

// draw writes the charts that show something, by the names of their files, and
// says which these are.
func (p resultPage) draw(charts map[string]report.LineChart) (map[string]bool, error) {
	drawn := map[string]bool{}
	for _, file := range slices.Sorted(maps.Keys(charts)) {
		chart := charts[file]
		if !slices.ContainsFunc(chart.Series, func(s report.Series) bool { return len(s.X) > 0 }) {
			continue
		}
		if err := atomicfile.Write(filepath.Join(p.dir, file), func(w io.Writer) error { return report.WriteSVG(w, chart) }); err != nil {
			return nil, err
		}
		drawn[file] = true
	}
	return drawn, nil
}

// tableWriter writes the parts of the page and keeps the first error.
type tableWriter struct {
	to    io.Writer
	drawn map[string]bool
	err   error
}

func (w *tableWriter) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.to, s+"\n")
	}
}

func (w *tableWriter) table(t report.Table) {
	if w.err == nil {
		w.err = t.Markdown(w.to)
	}
	w.text("")
}

func (w *tableWriter) figure(file, title string) {
	if w.drawn[file] {
		w.text(fmt.Sprintf("![%s](%s)\n", title, file))
	} else {
		w.text(title + ": not measured yet.\n")
	}
}

// setting is how the runs of a row were made.
type setting struct{ row, command string }

// settings says by which commands the runs of a table were made.
func (w *tableWriter) settings(list []setting) {
	rows := map[string][]string{}
	var order []string
	for _, s := range list {
		if rows[s.command] == nil {
			order = append(order, s.command)
		}
		if !slices.Contains(rows[s.command], s.row) {
			rows[s.command] = append(rows[s.command], s.row)
		}
	}
	for _, command := range order {
		who := "all methods"
		if len(order) > 1 {
			who = strings.Join(rows[command], ", ")
		}
		w.text(fmt.Sprintf("* `%s` (%s)", command, who))
	}
	if len(order) > 0 {
		w.text("")
	}
}

// writeFailures lists the runs that have not succeeded.
func writeFailures[R tableRun](w *tableWriter, runs []R) {
	heading := false
	for _, r := range runs {
		if r.failure() == "" {
			continue
		}
		if !heading {
			w.text("## Runs that failed\n")
			heading = true
		}
		w.text(fmt.Sprintf("* %s after %s: %s", r.identity(), seconds(r.took()), r.failure()))
	}
}
