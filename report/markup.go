package report

import (
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// markup builds HTML and SVG text that is also well-formed XML. Names come
// from this package; every attribute value and text passes through escape, so
// no caller can insert markup of its own.
type markup struct {
	b strings.Builder
}

// open starts an element; attributes are given as name, value pairs.
func (m *markup) open(name string, attributes ...string) {
	m.tag(name, attributes)
	m.b.WriteByte('>')
}

// empty writes an element without content.
func (m *markup) empty(name string, attributes ...string) {
	m.tag(name, attributes)
	m.b.WriteString("/>")
}

// element writes an element around text.
func (m *markup) element(name, text string, attributes ...string) {
	m.open(name, attributes...)
	m.text(text)
	m.close(name)
}

func (m *markup) tag(name string, attributes []string) {
	m.b.WriteByte('<')
	m.b.WriteString(name)
	for i := 0; i+1 < len(attributes); i += 2 {
		m.b.WriteByte(' ')
		m.b.WriteString(attributes[i])
		m.b.WriteString(`="`)
		m.b.WriteString(escape(attributes[i+1]))
		m.b.WriteByte('"')
	}
}

func (m *markup) close(name string) {
	m.b.WriteString("</")
	m.b.WriteString(name)
	m.b.WriteByte('>')
}

func (m *markup) text(s string) { m.b.WriteString(escape(s)) }

// trusted writes markup, style or script text of this package unchanged.
func (m *markup) trusted(s string) { m.b.WriteString(s) }

func (m *markup) newline() { m.b.WriteByte('\n') }

func (m *markup) String() string { return m.b.String() }

// escape makes s text in HTML and XML: special characters become references,
// and characters that XML cannot hold (most control characters, invalid UTF-8)
// become U+FFFD.
func escape(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), r == 0xfffe, r == 0xffff:
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return html.EscapeString(s)
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
