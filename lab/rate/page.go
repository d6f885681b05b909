package rate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
)

// Name is the stem of the page and its files.
const Name = "rate-distortion"

const ownCoder = "gritvq"

// Point is a coder at one setting: means over the pictures.
type Point struct {
	Coder        string  `json:"coder"`
	Setting      string  `json:"setting"`
	BitsPerPixel float64 `json:"bits_per_pixel"`
	PSNR         float64 `json:"psnr"`
	SSIM         float64 `json:"ssim"`
	LPIPS        float64 `json:"lpips,omitempty"` // 0: not measured
	Pictures     int     `json:"pictures"`
}

// Check reports missing fields.
func (p Point) Check() error {
	if p.Coder == "" || p.BitsPerPixel <= 0 {
		return errors.New("a point needs a coder and bits_per_pixel above 0")
	}
	return nil
}

type measure struct {
	name     string
	decimals int
	goal     table.Goal
	of       func(Point) float64
}

var measures = []measure{
	{"PSNR (dB)", 2, table.Higher, func(p Point) float64 { return p.PSNR }},
	{"SSIM", 3, table.Higher, func(p Point) float64 { return p.SSIM }},
	{"LPIPS", 3, table.Lower, func(p Point) float64 { return p.LPIPS }},
}

func (m measure) text(p Point) string { return fmt.Sprintf("%.*f", m.decimals, m.of(p)) }

func (m measure) file() string {
	word, _, _ := strings.Cut(strings.ToLower(m.name), " ")
	return Name + "-" + word + ".svg"
}

// quality grows as pictures get better.
func (m measure) quality(p Point) float64 {
	if m.goal == table.Lower {
		return -m.of(p)
	}
	return m.of(p)
}

// need is the bits a pixel at which a coder is as good as p: linear between its points over the logarithm of the bits.
// If p is worse than all of them, need is the fewest bits and outside is -1; if p is better, the most bits and 1.
func (m measure) need(points []Point, p Point) (bits float64, outside int) {
	points = slices.SortedFunc(slices.Values(points), func(a, b Point) int { return cmp.Compare(a.BitsPerPixel, b.BitsPerPixel) })
	want, last := m.quality(p), len(points)-1
	if want < m.quality(points[0]) {
		return points[0].BitsPerPixel, -1
	}
	for i, low := range points[:last] {
		high := points[i+1]
		if want > m.quality(high) {
			continue
		}
		if m.quality(high) <= m.quality(low) { // more bits and no better: the fewer are enough
			return low.BitsPerPixel, 0
		}
		share := max(0, (want-m.quality(low))/(m.quality(high)-m.quality(low)))
		return math.Exp((1-share)*math.Log(low.BitsPerPixel) + share*math.Log(high.BitsPerPixel)), 0
	}
	if want <= m.quality(points[last]) {
		return points[last].BitsPerPixel, 0
	}
	return points[last].BitsPerPixel, 1
}

func openPage(dir string) (*table.Page, error) {
	return table.OpenPage(dir, Name, "bench rate", "Rate and distortion")
}

// Write writes the page again from the points that are stored in dir.
func Write(dir string) error {
	page, err := openPage(dir)
	if err != nil {
		return err
	}
	points, err := table.ReadLines[Point](page.Path(".jsonl"))
	if err != nil {
		return err
	}
	return write(page, points)
}

func write(page *table.Page, points []Point) error {
	measured := slices.DeleteFunc(slices.Clone(measures), func(m measure) bool {
		return !slices.ContainsFunc(points, func(p Point) bool { return m.of(p) != 0 })
	})
	all := report.Table{Columns: []report.Column{{Name: "format"}, {Name: "setting"}, {Name: "bits/pixel", Align: report.Right}}}
	for _, p := range points {
		all.Rows = append(all.Rows, report.Cells(p.Coder, p.Setting, fmt.Sprintf("%.3f", p.BitsPerPixel)))
	}
	for _, m := range measured {
		page.Text("## %s\n", m.name)
		page.Figure(m.file(), m.name+" against bits a pixel", m.chart(points))
		page.Text("%s", legend)
		page.Table(m.table(points))
		all.Columns = append(all.Columns, report.Column{Name: m.name, Align: report.Right})
		for i, p := range points {
			all.Rows[i] = append(all.Rows[i], report.Cell{Text: m.text(p)})
		}
	}
	page.Text("## All points\n")
	page.Table(all)
	return page.Write()
}

const legend = `The lines join each format's settings that no other of the same format beats. Bits a pixel that the other formats need to be
as good; **fewest**. Between measured qualities they are interpolated; "smallest" marks a format whose smallest file is better still, "over"
one whose largest measured file is worse.
`

func coders(points []Point) []string {
	var names []string
	for _, p := range points {
		if !slices.Contains(names, p.Coder) {
			names = append(names, p.Coder)
		}
	}
	return names
}

func ofCoder(points []Point, name string) []Point {
	return slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Coder != name })
}

// front is the points that no point with as few bits matches, by bits.
func (m measure) front(points []Point) []Point {
	var best []Point
	for _, p := range slices.SortedFunc(slices.Values(points), func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.BitsPerPixel, b.BitsPerPixel), cmp.Compare(m.quality(b), m.quality(a)))
	}) {
		if len(best) == 0 || m.quality(p) > m.quality(best[len(best)-1]) {
			best = append(best, p)
		}
	}
	return best
}

func (m measure) chart(points []Point) report.LineChart {
	chart := report.LineChart{Title: m.name, XLabel: "bits per pixel", YLabel: m.name, LogX: true}
	for _, name := range coders(points) {
		line := report.Series{Name: name}
		for _, p := range m.front(ofCoder(points, name)) {
			line.X, line.Y = append(line.X, p.BitsPerPixel), append(line.Y, m.of(p))
		}
		chart.Series = append(chart.Series, line)
	}
	return chart
}

func (m measure) table(points []Point) report.Table {
	others := slices.DeleteFunc(coders(points), func(name string) bool { return name == ownCoder })
	t := report.Table{Columns: append([]report.Column{{Name: "tokenizer"}}, report.Columns(report.Right,
		append([]string{m.name, ownCoder}, others...)...)...)}
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
