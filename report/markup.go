package report

import (
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// markup builds HTML and SVG that is also well-formed XML. Callers of the package
// cannot insert markup: every attribute value and text is escaped.
type markup struct{ strings.Builder }

// open starts an element; attributes are name, value pairs.
func (m *markup) open(name string, attributes ...string) {
	m.tag(name, attributes)
	m.WriteByte('>')
}

// empty writes an element without content.
func (m *markup) empty(name string, attributes ...string) {
	m.tag(name, attributes)
	m.WriteString("/>")
}

func (m *markup) element(name, text string, attributes ...string) {
	m.open(name, attributes...)
	m.text(text)
	m.close(name)
}

// optional writes an element unless its text is empty.
func (m *markup) optional(name, text string, attributes ...string) {
	if text != "" {
		m.element(name, text, attributes...)
	}
}

func (m *markup) tag(name string, attributes []string) {
	m.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		m.WriteString(" " + attributes[i] + `="` + escape(attributes[i+1]) + `"`)
	}
}

func (m *markup) close(names ...string) {
	for _, name := range names {
		m.WriteString("</" + name + ">")
	}
}

// closeLine closes elements and ends the line.
func (m *markup) closeLine(names ...string) {
	m.close(names...)
	m.WriteByte('\n')
}

func (m *markup) text(s string) { m.WriteString(escape(s)) }

// verbatim writes an element around style or script text of this package.
func (m *markup) verbatim(name, trusted string) {
	m.open(name)
	m.WriteString(trusted)
	m.close(name)
}

// caption writes the text under a figure, notes in small print.
func (m *markup) caption(text string, notes ...string) {
	if text == "" && len(notes) == 0 {
		return
	}
	m.open("figcaption")
	m.text(text)
	for _, note := range notes {
		m.element("small", note)
	}
	m.close("figcaption")
}

// escape makes s text in HTML and XML. Characters that XML cannot hold (most
// control characters, invalid UTF-8) become U+FFFD.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == 0xfffe || r == 0xffff {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// px formats a length or coordinate to a hundredth of a pixel, without
// trailing zeros.
func px(v float64) string {
	v = math.Round(v*100) / 100
	if v == 0 {
		return "0" // not -0
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
