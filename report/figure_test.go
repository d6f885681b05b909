package report

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
)

// dots is a small picture with something in it.
func dots(t testing.TB) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 30, 20))
	for i := range 20 {
		m.SetRGBA(i, i, color.RGBA{R: 200, G: uint8(10 * i), A: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A figure is on the page whole, in its size and with its words, and the page's
// policy lets it be shown, but nothing from elsewhere.
func TestFigureIsPartOfThePage(t *testing.T) {
	content := dots(t)
	const evil = `"><script>alert(1)</script>`
	p := New("P", "")
	p.Section("S", "", Figure{Title: "Dots" + evil, PNG: content, Caption: "Look & see." + evil, Alt: "a line of dots" + evil})
	text := renderText(t, p)
	found := 0
	for _, e := range parse(t, text) {
		switch e.name {
		case "img":
			found++
			encoded, inline := strings.CutPrefix(e.attributes["src"], "data:image/png;base64,")
			got, err := base64.StdEncoding.DecodeString(encoded)
			if !inline || err != nil || !bytes.Equal(got, content) {
				t.Errorf("the picture is not the one given (%v)", err)
			}
			if e.attributes["width"] != "30" || e.attributes["height"] != "20" || e.attributes["alt"] != "a line of dots"+evil {
				t.Errorf("attributes %v", e.attributes)
			}
		case "figcaption":
			if e.text != "Look & see."+evil {
				t.Errorf("caption %q", e.text)
			}
		case "meta":
			if policy := e.attributes["content"]; e.attributes["http-equiv"] == "Content-Security-Policy" &&
				(!strings.Contains(policy, "; img-src data:") || !strings.HasPrefix(policy, "default-src 'none';") ||
					strings.Contains(policy, "http")) {
				t.Errorf("policy %q", policy)
			}
		}
	}
	if found != 1 || strings.Count(text, "<script") != 1 {
		t.Errorf("%d pictures and %d scripts", found, strings.Count(text, "<script"))
	}
}

func TestFigureErrors(t *testing.T) {
	for want, f := range map[string]Figure{
		`figure "A" is no PNG`:              {Title: "A", PNG: dots(t)[:9], Alt: "x"},
		`figure "B" has no alternative tex`: {Title: "B", PNG: dots(t)},
	} {
		p := New("P", "")
		p.Section("S", "", f)
		if err := p.Render(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
