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
)

// Legend explains the marks of a table, for readers of a page.
const Legend = `Means over seeds ± standard deviations; **best**, and = tied with it: not shown to be worse on the seeds that both have, by
the interval of the paired t test for three seeds or more, otherwise by a difference above the typical deviation over seeds in the table.`

// Page is a Markdown document with tables and figures. The text above its mark is written by people and stays.
type Page struct {
	dir  string
	name string // NAME.jsonl holds the records, NAME.md the tables
	mark string // where the generated part begins
	head string // the text above it
	text bytes.Buffer
	err  error // the first
	// Charts are the figures of the page by the names of their files.
	Charts map[string]report.LineChart
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

// Commands adds the commands by which runs were made, with the rows they are in.
func (p *Page) Commands(runs []About, name func(method string) string) {
	rows := map[string][]string{}
	var order []string
	for _, r := range runs {
		if rows[r.Command] == nil {
			order = append(order, r.Command)
		}
		if row := name(r.Method); !slices.Contains(rows[r.Command], row) {
			rows[r.Command] = append(rows[r.Command], row)
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
