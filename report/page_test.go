package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// element is a parsed node of a page or drawing.
type element struct {
	name       string
	attributes map[string]string
	text       string
	parent     *element
}

// parse reads text as strict XML, which also finds every unbalanced tag and
// unescaped character, and returns its elements in document order.
func parse(t *testing.T, text string) []*element {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	var all []*element
	var current *element
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attributes: map[string]string{}, parent: current}
			for _, a := range token.Attr {
				if _, twice := e.attributes[a.Name.Local]; twice {
					t.Fatalf("<%s> has %s twice", e.name, a.Name.Local)
				}
				e.attributes[a.Name.Local] = a.Value
			}
			all, current = append(all, e), e
		case xml.EndElement:
			current = current.parent
		case xml.CharData:
			if current != nil {
				current.text += string(token)
			}
		}
	}
}

func renderText(t *testing.T, p *Page) string {
	t.Helper()
	var b strings.Builder
	if err := p.Render(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var badNumber = regexp.MustCompile(`(?i)\b(nan|[+-]?inf(inity)?)\b`)

func TestEveryChartIsValidAndInsideItsFrame(t *testing.T) {
	for name, chart := range sampleCharts() {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			if err := WriteSVG(&b, chart); err != nil {
				t.Fatal(err)
			}
			if bad := badNumber.FindString(b.String()); bad != "" {
				t.Errorf("the drawing holds %q", bad)
			}
			for _, e := range parse(t, b.String()) {
				for key, value := range e.attributes {
					switch key {
					case "x", "x1", "x2", "cx", "y", "y1", "y2", "cy":
						var v float64
						if err := xml.Unmarshal([]byte("<v>"+value+"</v>"), &v); err != nil || v < -1 || v > halfRow.width+700 {
							t.Errorf("<%s %s=%q> lies outside", e.name, key, value)
						}
					case "width", "height", "r":
						if strings.HasPrefix(value, "-") {
							t.Errorf("<%s %s=%q> is negative", e.name, key, value)
						}
					}
				}
			}
			if strings.Contains(b.String(), "var(--") {
				t.Error("a file of its own uses CSS variables")
			}
		})
	}
}

func TestPageIsWellFormedAndSelfContained(t *testing.T) {
	text := renderText(t, samplePage())
	if bad := badNumber.FindString(text); bad != "" {
		t.Errorf("the page holds %q", bad)
	}
	ids := map[string]bool{}
	count := map[string]int{}
	elements := parse(t, text)
	for _, e := range elements {
		count[e.name]++
		if id := e.attributes["id"]; id != "" {
			if ids[id] {
				t.Errorf("id %q twice", id)
			}
			ids[id] = true
		}
		if _, ok := e.attributes["src"]; ok || e.name == "link" || e.name == "img" {
			t.Errorf("<%s> loads something", e.name)
		}
	}
	for _, e := range elements {
		if href := e.attributes["href"]; href != "" && !ids[strings.TrimPrefix(href, "#")] {
			t.Errorf("link to %q leads nowhere", href)
		}
		for _, id := range strings.Fields(e.attributes["aria-labelledby"]) {
			if !ids[id] {
				t.Errorf("label %q does not exist", id)
			}
		}
		if e.name == "desc" && len(e.text) < 20 {
			t.Errorf("description %q says nothing", e.text)
		}
	}
	if count["svg"] != 6 || count["desc"] != 6 || count["h2"] != 4 || count["table"] != 1 || count["script"] != 1 || count["pre"] != 1 {
		t.Errorf("elements %v", count)
	}
	if size := len(text); size > 250_000 {
		t.Errorf("the page has %d bytes", size)
	}
}

func TestEverythingIsEscaped(t *testing.T) {
	const evil = `</title></style></svg><script>alert("1")</script>'&<img src=x>` + "\x00\x1b\xff\u0085"
	one := []float64{1}
	p := New(evil, evil)
	p.Facts([]Fact{{evil, evil, evil}})
	p.Footer(evil)
	p.Section(evil, evil,
		LineChart{Title: evil, Caption: evil, XLabel: evil, YLabel: evil, Series: []Series{{Name: evil, Y: one}, {Name: evil}},
			Marks: []Mark{{1, evil}}},
		BarChart{Title: evil, Caption: evil, XLabel: evil, YLabel: evil, Values: one},
		PointChart{Title: evil, Caption: evil, YLabel: evil, Groups: []string{evil}, Values: one},
		Scatter{Title: evil, Caption: evil, XLabel: evil, YLabel: evil, Layers: []Layer{{Name: evil, X: one, Y: one, Labels: []string{evil}}}},
		Table{Title: evil, Caption: evil, Columns: []Column{{Name: evil, Note: evil}}, Rows: [][]Cell{{{Text: evil, Strong: true}}}},
		Paragraph(evil), Code{Caption: evil, Text: evil})
	p.Section(evil, "")
	p.Section(evil, "")
	text := renderText(t, p)
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts, want only the page's own", n)
	}
	if strings.Contains(text, "<img") {
		t.Error("an image came through")
	}
	found := false
	for _, e := range parse(t, text) {
		found = found || e.name == "p" && strings.HasPrefix(e.text, "</title></style></svg><script>alert(\"1\")</script>'&<img")
	}
	if !found {
		t.Error("the text does not read as it was given")
	}
	for _, part := range p.sections[0].parts {
		if chart, ok := part.(Chart); ok {
			var b strings.Builder
			if err := WriteSVG(&b, chart); err != nil {
				t.Fatal(err)
			}
			if parse(t, b.String()); strings.Contains(b.String(), "<script") {
				t.Errorf("a script came through in %T", chart)
			}
		}
	}
}

func TestContradictionsAreErrorsBeforeAnyOutput(t *testing.T) {
	two, one := []float64{1, 2}, []float64{1}
	for want, part := range map[string]Part{
		`chart "T": series "s" has 2 x and 1 y values`:        LineChart{Title: "T", Series: []Series{{Name: "s", X: two, Y: one}}},
		`series "s" has a band of 1 low and 0 high values`:    LineChart{Series: []Series{{Name: "s", Y: two, Low: one}}},
		`chart "": 1 values for 2 groups`:                     PointChart{Groups: []string{"a", "b"}, Values: one},
		`chart "": 1 errors for 2 values`:                     PointChart{Groups: []string{"a", "b"}, Values: two, Errors: one},
		`layer "l" has 1 x and 2 y values`:                    Scatter{Layers: []Layer{{Name: "l", X: one, Y: two}}},
		`layer "l" has 1 labels for 2 points`:                 Scatter{Layers: []Layer{{Name: "l", X: two, Y: two, Labels: []string{"a"}}}},
		`chart "L": has nothing to draw with`:                 LineChart{Title: "L"},
		`table "" has no columns`:                             Table{},
		`report "P", section "S": part 1 is nil; leave it ou`: nil,
	} {
		p := New("P", "")
		p.Section("S", "", part)
		var b bytes.Buffer
		if err := p.Render(&b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if b.Len() != 0 {
			t.Errorf("%d bytes written before the error", b.Len())
		}
	}
}

func TestWriteFileIsWholeOrUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	if err := samplePage().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil || string(before) != renderText(t, samplePage()) {
		t.Fatalf("file of %d bytes differs from the rendered page (%v)", len(before), err)
	}
	bad := New("P", "")
	bad.Section("S", "", LineChart{})
	if bad.WriteFile(path) == nil {
		t.Fatal("no error")
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the failed page replaced the good one")
	}
}

func TestNotesSayWhatIsLeftOut(t *testing.T) {
	nan := math.NaN()
	raw := Series{Name: "raw", Y: []float64{1, nan, 0, 2}}
	chart := LineChart{LogY: true, Series: []Series{raw}}
	d, err := chart.draw(halfRow)
	if err != nil {
		t.Fatal(err)
	}
	want := "1 value is not finite and left out. 1 value is zero or negative and cannot be shown on a logarithmic axis."
	if got := strings.Join(d.notes, " "); got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
	d, err = BarChart{Values: make([]float64, 1024)}.draw(halfRow)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(d.notes, " "), "Each bar is the mean of 4 neighbouring values. 1,024 of 1,024 values are zero."; got != want {
		t.Errorf("notes %q, want %q", got, want)
	}
}
