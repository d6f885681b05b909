// Package report writes self-contained HTML pages with inline SVG charts and
// tables. A page needs no network, no other file and no script to be read. It
// follows the reader's light or dark scheme, prints, and describes its charts to
// screen readers. Where scripts run, a few lines show the values under the pointer.
//
// Everything a caller passes is text: it is escaped, never markup.
package report

import (
	"fmt"
	"io"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// Page is a report under construction; New makes an empty one.
type Page struct {
	title, subtitle string
	facts           []Fact
	sections        []section
	footer          string
}

// idSource numbers the elements that others on the page refer to.
type idSource int

func (s *idSource) next() string {
	*s++
	return fmt.Sprintf("c%d", *s)
}

// New starts a page. The subtitle, a sentence about its content, may be empty.
func New(title, subtitle string) *Page { return &Page{title: title, subtitle: subtitle} }

// Facts adds figures to the summary at the top, in order.
func (p *Page) Facts(facts []Fact) { p.facts = append(p.facts, facts...) }

// Section adds a section; the note under its heading may be empty. Consecutive
// charts share rows of two; the last of an odd number takes a row of its own.
func (p *Page) Section(heading, note string, parts ...Part) {
	p.sections = append(p.sections, section{heading, note, parts})
}

// Footer sets the small print at the end, such as version and date.
func (p *Page) Footer(text string) { p.footer = text }

// WriteFile writes the page to path, whole or not at all.
func (p *Page) WriteFile(path string) error { return atomicfile.Write(path, p.Render) }

// Render writes the page to w. It fails before writing anything if a part
// contradicts itself, such as a series with more x than y values.
func (p *Page) Render(w io.Writer) error {
	var m markup
	m.WriteString("<!DOCTYPE html>\n")
	m.open("html", "lang", "en")
	p.head(&m)
	m.open("body")
	m.WriteByte('\n')
	m.open("main")
	p.header(&m)
	ids := new(idSource)
	for i, s := range p.sections {
		if err := s.render(&m, i, ids); err != nil {
			return fmt.Errorf("report %q, section %q: %w", p.title, s.heading, err)
		}
	}
	m.optional("footer", p.footer)
	m.close("main")
	m.verbatim("script", hoverScript)
	m.closeLine("body", "html")
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
	m.verbatim("style", pageStyle)
	m.closeLine("head")
}

func (p *Page) header(m *markup) {
	m.open("header")
	m.element("h1", p.title)
	m.optional("p", p.subtitle, "class", "lead")
	if len(p.facts) > 0 {
		m.open("dl", "class", "facts")
		for _, f := range p.facts {
			m.open("div")
			m.element("dt", f.Name)
			m.open("dd")
			m.text(f.Value)
			m.optional("small", f.Note)
			m.close("dd", "div")
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
	m.closeLine("header")
}
