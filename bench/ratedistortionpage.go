package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/report"
)

// rateResults names the files of the rate-distortion page.
const rateResults = "rate-distortion"

// ownCoder is the coder that others are compared with.
const ownCoder = "gritvq"

// ratePoint is a coder at one setting: means over the pictures.
type ratePoint struct {
	Coder        string  `json:"coder"`
	Setting      string  `json:"setting"`
	BitsPerPixel float64 `json:"bits_per_pixel"`
	PSNR         float64 `json:"psnr"`
	SSIM         float64 `json:"ssim"`
	LPIPS        float64 `json:"lpips,omitempty"` // 0: not measured
	Pictures     int     `json:"pictures"`
}

func (p ratePoint) check() error {
	if p.Coder == "" || p.BitsPerPixel <= 0 {
		return fmt.Errorf("a point needs a coder and bits_per_pixel above 0")
	}
	return nil
}

// rateMeasure is a way to say how good a restored picture is.
type rateMeasure struct {
	name   string
	digits int
	lower  bool // is better
	of     func(ratePoint) float64
}

var rateMeasures = []rateMeasure{
	{"PSNR (dB)", 2, false, func(p ratePoint) float64 { return p.PSNR }},
	{"SSIM", 3, false, func(p ratePoint) float64 { return p.SSIM }},
	{"LPIPS", 3, true, func(p ratePoint) float64 { return p.LPIPS }},
}

// file names the figure of a measure.
func (m rateMeasure) file() string {
	word, _, _ := strings.Cut(strings.ToLower(m.name), " ")
	return rateResults + "-" + word + ".svg"
}

// good grows with how good a picture is.
func (m rateMeasure) good(p ratePoint) float64 {
	if m.lower {
		return -m.of(p)
	}
	return m.of(p)
}

// need is the bits a pixel at which the points of a coder are as good as p:
// straight between neighbours over the logarithm of the bits. Where p is worse
// than all of them these are the fewest bits of any, and where it is better the
// most; outside is then -1 and 1, otherwise 0.
func (m rateMeasure) need(points []ratePoint, p ratePoint) (bits float64, outside int) {
	points = slices.SortedFunc(slices.Values(points), func(a, b ratePoint) int { return cmp.Compare(a.BitsPerPixel, b.BitsPerPixel) })
	want, last := m.good(p), len(points)-1
	if want < m.good(points[0]) {
		return points[0].BitsPerPixel, -1
	}
	for i, low := range points[:last] {
		high := points[i+1]
		if want > m.good(high) {
			continue
		}
		if m.good(high) <= m.good(low) { // more bits and no better: the fewer are enough
			return low.BitsPerPixel, 0
		}
		share := max(0, (want-m.good(low))/(m.good(high)-m.good(low)))
		return math.Exp((1-share)*math.Log(low.BitsPerPixel) + share*math.Log(high.BitsPerPixel)), 0
	}
	if want <= m.good(points[last]) {
		return points[last].BitsPerPixel, 0
	}
	return points[last].BitsPerPixel, 1
}

func openRatePage(dir string) (resultPage, error) {
	return openPage(dir, rateResults, "-rate", "Rate and distortion")
}

// ratePage writes the page of the points that are stored in dir again.
func ratePage(dir string) error {
	page, err := openRatePage(dir)
	if err != nil {
		return err
	}
	name := page.path(".jsonl")
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	points, err := readLines[ratePoint](name, file)
	if err != nil {
		return err
	}
	return writeRatePage(page, points)
}

func writeRatePage(page resultPage, points []ratePoint) error {
	charts := map[string]report.LineChart{}
	var measured []rateMeasure
	for _, m := range rateMeasures {
		if slices.ContainsFunc(points, func(p ratePoint) bool { return m.of(p) != 0 }) {
			measured = append(measured, m)
			charts[m.file()] = m.chart(points)
		}
	}
	drawn, err := page.draw(charts)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	w := &tableWriter{to: &text, drawn: drawn}
	for _, m := range measured {
		w.text("## " + m.name + "\n")
		w.figure(m.file(), m.name+" against bits a pixel")
		w.text("The lines join each format's settings that no other of the same format beats. Bits a pixel that the other formats need to be as good; **fewest**. Between\nmeasured qualities they are interpolated; \"smallest\" is said of a format whose smallest file is better still, \"over\" of one whose largest measured file is worse.\n")
		w.table(m.table(points))
	}
	w.text("## All points\n")
	all := report.Table{Columns: []report.Column{{Name: "format"}, {Name: "setting"}, {Name: "bits/pixel", Align: report.Right}}}
	for _, m := range measured {
		all.Columns = append(all.Columns, report.Column{Name: m.name, Align: report.Right})
	}
	for _, p := range points {
		row := report.Cells(p.Coder, p.Setting, fmt.Sprintf("%.3f", p.BitsPerPixel))
		for _, m := range measured {
			row = append(row, report.Cell{Text: m.text(p)})
		}
		all.Rows = append(all.Rows, row)
	}
	w.table(all)
	if w.err != nil {
		return w.err
	}
	return page.write(text.String())
}

func (m rateMeasure) text(p ratePoint) string { return fmt.Sprintf("%.*f", m.digits, m.of(p)) }

// coderNames are those of the points, in their order.
func coderNames(points []ratePoint) []string {
	var names []string
	for _, p := range points {
		if !slices.Contains(names, p.Coder) {
			names = append(names, p.Coder)
		}
	}
	return names
}

func ofCoder(points []ratePoint, name string) []ratePoint {
	return slices.DeleteFunc(slices.Clone(points), func(p ratePoint) bool { return p.Coder != name })
}

// front is the points than which none has fewer bits and is as good, by bits.
func (m rateMeasure) front(points []ratePoint) []ratePoint {
	var best []ratePoint
	for _, p := range slices.SortedFunc(slices.Values(points), func(a, b ratePoint) int {
		return cmp.Or(cmp.Compare(a.BitsPerPixel, b.BitsPerPixel), cmp.Compare(m.good(b), m.good(a)))
	}) {
		if len(best) == 0 || m.good(p) > m.good(best[len(best)-1]) {
			best = append(best, p)
		}
	}
	return best
}

func (m rateMeasure) chart(points []ratePoint) report.LineChart {
	chart := report.LineChart{Title: m.name, XLabel: "bits per pixel", YLabel: m.name, LogX: true}
	for _, name := range coderNames(points) {
		line := report.Series{Name: name}
		for _, p := range m.front(ofCoder(points, name)) {
			line.X, line.Y = append(line.X, p.BitsPerPixel), append(line.Y, m.of(p))
		}
		chart.Series = append(chart.Series, line)
	}
	return chart
}

// table compares every own point with what others need to be as good.
func (m rateMeasure) table(points []ratePoint) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "tokenizer"}, {Name: m.name, Align: report.Right}, {Name: ownCoder, Align: report.Right}}}
	var others []string
	for _, name := range coderNames(points) {
		if name != ownCoder {
			others = append(others, name)
			t.Columns = append(t.Columns, report.Column{Name: name, Align: report.Right})
		}
	}
	for _, p := range ofCoder(points, ownCoder) {
		row := report.Cells(p.Setting, m.text(p), fmt.Sprintf("%.3f", p.BitsPerPixel))
		best, fewest := 2, p.BitsPerPixel
		for _, name := range others {
			bits, outside := m.need(ofCoder(points, name), p)
			row = append(row, report.Cell{Text: [...]string{"smallest, ", "", "over "}[outside+1] + fmt.Sprintf("%.3f", bits)})
			if outside <= 0 && bits < fewest {
				best, fewest = len(row)-1, bits
			}
		}
		row[best].Strong = true
		t.Rows = append(t.Rows, row)
	}
	return t
}
