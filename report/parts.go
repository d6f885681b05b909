package report

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image/png"
	"strconv"
)

// Fact is one figure of the summary at the top of a page.
type Fact struct {
	Name  string // such as "utilization"
	Value string // such as "98.2%"
	Note  string // optional, small under the value
}

// Part is a piece of a section: a [Chart], [Table], [Figure], [Paragraph] or [Code].
type Part interface {
	render(m *markup, ids *idSource) error
}

type section struct {
	heading, note string
	parts         []Part
}

func sectionID(i int) string { return "s" + strconv.Itoa(i+1) }

func (s section) render(m *markup, number int, ids *idSource) error {
	m.open("section", "id", sectionID(number))
	m.element("h2", s.heading)
	m.optional("p", s.note, "class", "lead")
	var charts []Chart // that follow each other
	for i, part := range s.parts {
		if part == nil {
			return fmt.Errorf("part %d is nil; leave it out instead", i+1)
		}
		if chart, ok := part.(Chart); ok {
			charts = append(charts, chart)
			continue
		}
		if err := cmp.Or(renderCharts(m, charts, ids), part.render(m, ids)); err != nil {
			return err
		}
		charts = nil
	}
	if err := renderCharts(m, charts, ids); err != nil {
		return err
	}
	m.closeLine("section")
	return nil
}

// Paragraph is running text in a section.
type Paragraph string

func (p Paragraph) render(m *markup, _ *idSource) error {
	m.element("p", string(p))
	return nil
}

// Code is preformatted text, such as the commands that reproduce the page.
type Code struct {
	Caption string // optional, above the block
	Text    string
}

func (c Code) render(m *markup, _ *idSource) error {
	m.open("figure", "class", "code")
	m.optional("figcaption", c.Caption)
	m.open("pre", "tabindex", "0")
	m.element("code", c.Text)
	m.closeLine("pre", "figure")
	return nil
}

// Figure is a picture made of pixels, stored inside the page.
type Figure struct {
	Title   string // optional, above the picture
	PNG     []byte // the whole file
	Caption string // optional, below the picture
	Alt     string // the picture in words, for readers who cannot see it
}

func (f Figure) render(m *markup, _ *idSource) error {
	size, err := png.DecodeConfig(bytes.NewReader(f.PNG))
	if err != nil {
		return fmt.Errorf("figure %q is no PNG: %w", f.Title, err)
	}
	if f.Alt == "" {
		return fmt.Errorf("figure %q has no alternative text; say in a sentence what it shows", f.Title)
	}
	m.open("figure", "class", "chart")
	m.optional("h3", f.Title)
	m.empty("img", "alt", f.Alt, "width", strconv.Itoa(size.Width), "height", strconv.Itoa(size.Height),
		"style", "display:block;max-width:100%;height:auto", "src", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(f.PNG))
	m.caption(f.Caption)
	m.closeLine("figure")
	return nil
}
