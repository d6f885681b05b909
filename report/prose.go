package report

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
	if c.Caption != "" {
		m.element("figcaption", c.Caption)
	}
	m.open("pre", "tabindex", "0")
	m.element("code", c.Text)
	m.close("pre")
	m.close("figure")
	m.newline()
	return nil
}
