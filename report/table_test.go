package report

import (
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/textwidth"
)

func unicodeTable() Table {
	return Table{
		Title: "Scores", Caption: "Best in bold.",
		Columns: []Column{{Name: "data"}, {Name: "PSNR", Note: "in dB, higher is better"}, {Name: "share"}, {Name: "kind"}},
		Rows: [][]Cell{
			{{Text: "画像 set"}, {Text: "28.43 ± 0.12", Strong: true}, {Text: "98.2%"}, {Text: "a|b"}},
			{{Text: "cafe\u0301"}, {Text: "9.1 ± 0.3"}, {Text: "n/a"}, {Text: "long kind"}},
			{{Text: "e\x1b[31mvil\nrow"}, {Text: "-"}, {Text: ">99.9%"}},
		},
	}
}

func TestTableText(t *testing.T) {
	const want = "Scores\n" +
		"data                   PSNR   share  kind\n" +
		"─────────────  ────────────  ──────  ─────────\n" +
		"画像 set       28.43 ± 0.12   98.2%  a|b\n" +
		"cafe\u0301              9.1 ± 0.3     n/a  long kind\n" +
		"e [31mvil row             -  >99.9%\n" +
		"Best in bold.\n" +
		"PSNR: in dB, higher is better\n"
	var b strings.Builder
	if err := unicodeTable().Text(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	lines := strings.Split(b.String(), "\n")
	if a, b := textwidth.Of(lines[3][:strings.Index(lines[3], "%")]), textwidth.Of(lines[5][:strings.Index(lines[5], "%")]); a != b {
		t.Errorf("percent signs in columns %d and %d", a, b)
	}
}

func TestTableMarkdown(t *testing.T) {
	const want = "**Scores**\n\n" +
		"| data | PSNR | share | kind |\n|---|--:|--:|---|\n" +
		"| 画像 set | **28.43 ± 0.12** | 98.2% | a\\|b |\n" +
		"| cafe\u0301 | 9.1 ± 0.3 | n/a | long kind |\n" +
		"| e \\[31mvil row | - | &gt;99.9% |  |\n" +
		"\nBest in bold.\n\nPSNR: in dB, higher is better\n"
	var b strings.Builder
	if err := unicodeTable().Markdown(&b); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestTableCSVReadsBack(t *testing.T) {
	table := unicodeTable()
	table.Rows[0][0].Text = "a \"quoted\", cell\nof two lines"
	var b strings.Builder
	if err := table.CSV(&b); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 4 || records[0][1] != "PSNR" || records[1][0] != table.Rows[0][0].Text || records[3][3] != "" {
		t.Errorf("records %q", records)
	}
}

// A cell may lead to another page; its text is escaped as elsewhere.
func TestCellLink(t *testing.T) {
	var page strings.Builder
	p := New("T", "")
	p.Section("S", "", Table{Columns: []Column{{Name: "a"}}, Rows: [][]Cell{{{Text: "x < y", Link: "sub/report.html", Strong: true}}}})
	if err := p.Render(&page); err != nil {
		t.Fatal(err)
	}
	if want := `<strong><a href="sub/report.html">x &lt; y</a></strong>`; !strings.Contains(page.String(), want) {
		t.Errorf("the page lacks %s", want)
	}
}

func TestTableWithTooManyCellsIsRefused(t *testing.T) {
	table := Table{Title: "T", Columns: []Column{{Name: "a"}}, Rows: [][]Cell{Cells("1"), Cells("1", "2")}}
	for name, err := range map[string]error{
		"text": table.Text(&strings.Builder{}), "markdown": table.Markdown(&strings.Builder{}), "csv": table.CSV(&strings.Builder{}),
	} {
		if err == nil || !strings.Contains(err.Error(), `table "T" has 2 cells in row 2 for 1 columns`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Table{}).Text(&strings.Builder{}); err == nil {
		t.Error("a table without columns was printed")
	}
}

func TestIsNumber(t *testing.T) {
	for _, s := range []string{"0", "-1.5", "1e-5", "12.3M", "98%", ">99.9%", "0.1 ± 0.02", "1h 02m",
		"12 ms", "1,024", "∞", "85µs", "−3"} {
		if !isNumber(s) {
			t.Errorf("%q is a number", s)
		}
	}
	for _, s := range []string{"", "abc", "a1", "3 small cats", "4096-entry", "-", "GRIT", "2-layer"} {
		if isNumber(s) {
			t.Errorf("%q is no number", s)
		}
	}
}

func ExampleTable_Text() {
	t := Table{Columns: []Column{{Name: "method"}, {Name: "error"}, {Name: "codes in use"}}}
	t.Rows = append(t.Rows, Cells("GRIT", PlusMinus(0.01213, 0.00041), Percent(0.982, 1)),
		Cells("plain VQ", PlusMinus(0.0187, 0.0012), Percent(0.396, 1)))
	t.Text(os.Stdout)
	// Output:
	// method                error  codes in use
	// ────────  ─────────────────  ────────────
	// GRIT      0.01213 ± 0.00041         98.2%
	// plain VQ    0.0187 ± 0.0012         39.6%
}

func TestColumnsShareAnAlignment(t *testing.T) {
	if got := Columns(Right, "a", "b"); len(got) != 2 || got[0] != (Column{Name: "a", Align: Right}) ||
		got[1] != (Column{Name: "b", Align: Right}) {
		t.Errorf("%+v", got)
	}
}

func TestAddSeriesSkipsEmptyOnes(t *testing.T) {
	var c LineChart
	c.AddSeries(Series{Name: "empty"})
	c.AddSeries(Series{Name: "a", X: []float64{1}, Y: []float64{2}})
	if len(c.Series) != 1 || c.Series[0].Name != "a" {
		t.Errorf("%+v", c.Series)
	}
}
