package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"
)

//go:embed page.css
var layoutStyle string

//go:embed chart.css
var chartStyle string

//go:embed hover.js
var hoverScript string

// colours is one scheme. The series colours are the palette of Okabe and Ito
// (jfly.uni-koeln.de/color), which stays distinguishable with the common colour
// vision deficiencies, darkened on white and lightened on black to a contrast of
// at least 3.
type colours struct {
	page, surface, text, muted, grid, axis, accent string
	series                                         []string
}

var lightColours = colours{
	page: "#f6f7f9", surface: "#ffffff", text: "#1b2430", muted: "#56616f",
	grid: "#e6e9ee", axis: "#8a94a3", accent: "#00639b",
	series: []string{"#0072b2", "#d55e00", "#009e73", "#cc6fa3", "#6b4e00", "#39424e", "#3d97d1"},
}

var darkColours = colours{
	page: "#0f1319", surface: "#171c24", text: "#e7eaef", muted: "#a4aebb",
	grid: "#2a313c", axis: "#6d7888", accent: "#7cc4f2",
	series: []string{"#56b4e9", "#f0803c", "#2cc295", "#e39bc6", "#e6c229", "#d3d8df", "#3f87c9"},
}

func (c colours) variables() [][2]string {
	list := [][2]string{
		{"--page", c.page}, {"--surface", c.surface}, {"--text", c.text}, {"--muted", c.muted},
		{"--grid", c.grid}, {"--axis", c.axis}, {"--accent", c.accent},
	}
	for i, s := range c.series {
		list = append(list, [2]string{fmt.Sprintf("--s%d", i), s})
	}
	return list
}

func (c colours) root() string {
	root := ":root{"
	for _, v := range c.variables() {
		root += v[0] + ":" + v[1] + ";"
	}
	return root + "}"
}

func seriesStyle() string {
	style := ""
	for i := range lightColours.series {
		style += fmt.Sprintf(".s%d{color:var(--s%d)}", i, i)
	}
	return style + "\n"
}

func fontStyle() string {
	return fmt.Sprintf(".tick,.value,.mark text{font-size:%gpx}.label{font-size:%gpx}.legend{font-size:%gpx}.heading{font-size:%gpx}\n",
		tickFont, labelFont, legendFont, titleFont)
}

// pageStyle is light, dark where the reader asks for it, and light on paper.
var pageStyle = "\n" + lightColours.root() +
	"\n@media (prefers-color-scheme:dark){" + darkColours.root() + "}" +
	"\n@media print{" + lightColours.root() + "}\n" +
	layoutStyle + chartStyle + fontStyle() + seriesStyle()

// fileStyle is for SVG files. Many programs that show them do not know CSS
// variables, so their values are written out.
var fileStyle = func() string {
	style := chartStyle + fontStyle() + seriesStyle()
	for _, v := range lightColours.variables() {
		style = strings.ReplaceAll(style, "var("+v[0]+")", v[1])
	}
	return style
}()

// contentPolicy lets the page run its own script and load nothing.
var contentPolicy = func() string {
	sum := sha256.Sum256([]byte(hoverScript))
	return "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; img-src data:"
}()
