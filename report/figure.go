package report

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"strconv"
)

// Figure is a picture made of pixels. It becomes part of the page: no other
// file is needed to see it.
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
	if f.Title != "" {
		m.element("h3", f.Title)
	}
	m.empty("img", "alt", f.Alt, "width", strconv.Itoa(size.Width), "height", strconv.Itoa(size.Height),
		"style", "display:block;max-width:100%;height:auto", "src", "data:image/png;base64,"+base64.StdEncoding.EncodeToString(f.PNG))
	if f.Caption != "" {
		m.element("figcaption", f.Caption)
	}
	m.close("figure")
	m.newline()
	return nil
}
