// Package report writes self-contained HTML pages with inline SVG charts and
// tables. A page is one file: it needs no network, no other file and no
// script to be read, follows the reader's light or dark scheme, prints, and
// describes its charts to screen readers. A few lines of script add values
// under the pointer where scripts run.
//
// Everything a caller passes is text: it is escaped, never markup.
package report

import (
	"fmt"
	"io"
	"strconv"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// Page is a report under construction. Make it with New, add to it, then
// Render or WriteFile it.
type Page struct {
	title, subtitle string
	facts           []Fact
	sections        []section
	footer          string
}

// Fact is one figure of the summary at the top of a page.
type Fact struct {
	Name  string // such as "utilization"
	Value string // such as "98.2%"
	Note  string // optional, small under the value
}

// Part is a piece of a section: a Chart (LineChart, BarChart, PointChart,
// Scatter), a Table, a Paragraph or a Code block.
type Part interface {
	render(m *markup, ids *idSource) error
}

type section struct {
	heading, note string
	parts         []Part
}

// idSource numbers the elements that others on the page refer to.
type idSource struct{ last int }

func (s *idSource) next() string {
	s.last++
	return "c" + strconv.Itoa(s.last)
}

// New starts a page. The subtitle, a sentence about its content, may be empty.
func New(title, subtitle string) *Page {
	return &Page{title: title, subtitle: subtitle}
}

// Facts adds figures to the summary at the top, in order.
func (p *Page) Facts(facts []Fact) { p.facts = append(p.facts, facts...) }

// Section adds a section with its heading, a note under it (may be empty)
// and its parts. Charts that follow each other share rows of two; the last
// of an odd number takes a row of its own.
func (p *Page) Section(heading, note string, parts ...Part) {
	p.sections = append(p.sections, section{heading, note, parts})
}

// Footer sets the small print at the end of the page, such as the version and
// date that made it.
func (p *Page) Footer(text string) { p.footer = text }

// WriteFile writes the page to path, whole or not at all.
func (p *Page) WriteFile(path string) error {
	return atomicfile.Write(path, p.Render)
}

// Render writes the page to w. It returns an error, before writing anything,
// when a part contradicts itself (such as a series with more x than y values).
func (p *Page) Render(w io.Writer) error {
	var m markup
	m.trusted("<!DOCTYPE html>\n")
	m.open("html", "lang", "en")
	p.head(&m)
	m.open("body")
	m.newline()
	m.open("main")
	p.header(&m)
	ids := &idSource{}
	for i, s := range p.sections {
		if err := s.render(&m, i, ids); err != nil {
			return fmt.Errorf("report %q, section %q: %w", p.title, s.heading, err)
		}
	}
	if p.footer != "" {
		m.element("footer", p.footer)
	}
	m.close("main")
	m.open("script")
	m.trusted(hoverScript)
	m.close("script")
	m.close("body")
	m.close("html")
	m.newline()
	_, err := io.WriteString(w, m.String())
	return err
}

func (p *Page) head(m *markup) {
	m.open("head")
	m.empty("meta", "charset", "utf-8")
	m.empty("meta", "name", "viewport", "content", "width=device-width, initial-scale=1")
	m.empty("meta", "http-equiv", "Content-Security-Policy", "content", contentPolicy)
	m.empty("meta", "name", "color-scheme", "content", "light dark")
	m.element("title", p.title)
	m.open("style")
	m.trusted(pageStyle)
	m.close("style")
	m.close("head")
	m.newline()
}

func (p *Page) header(m *markup) {
	m.open("header")
	m.element("h1", p.title)
	if p.subtitle != "" {
		m.element("p", p.subtitle, "class", "lead")
	}
	if len(p.facts) > 0 {
		m.open("dl", "class", "facts")
		for _, f := range p.facts {
			m.open("div")
			m.element("dt", f.Name)
			m.open("dd")
			m.text(f.Value)
			if f.Note != "" {
				m.element("small", f.Note)
			}
			m.close("dd")
			m.close("div")
		}
		m.close("dl")
	}
	if len(p.sections) > 2 {
		m.open("nav", "aria-label", "sections")
		for i, s := range p.sections {
			m.element("a", s.heading, "href", "#"+sectionID(i))
		}
		m.close("nav")
	}
	m.close("header")
	m.newline()
}

func sectionID(i int) string { return "s" + strconv.Itoa(i+1) }

func (s section) render(m *markup, number int, ids *idSource) error {
	m.open("section", "id", sectionID(number))
	m.element("h2", s.heading)
	if s.note != "" {
		m.element("p", s.note, "class", "lead")
	}
	for i := 0; i < len(s.parts); {
		var charts []Chart
		for _, part := range s.parts[i:] {
			chart, ok := part.(Chart)
			if !ok {
				break
			}
			charts = append(charts, chart)
		}
		if len(charts) == 0 {
			if s.parts[i] == nil {
				return fmt.Errorf("part %d is nil; leave it out instead", i+1)
			}
			if err := s.parts[i].render(m, ids); err != nil {
				return err
			}
			i++
			continue
		}
		if err := renderCharts(m, charts, ids); err != nil {
			return err
		}
		i += len(charts)
	}
	m.close("section")
	m.newline()
	return nil
}
