package picture

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture/draw"
	"github.com/gritvq/gritvq/tokenizer"
)

var pagePath = flag.String("page", "", "also write a page with the pictures of a sample to this file, to look at it")

// A sample holds the runtime's reconstructions and can be put on a page.
func TestSample(t *testing.T) {
	r, set := untrained(t, 16, []int{8, 8}, 2, 1), scenes(t, 70, 16)
	s, err := Take(t.Context(), r, set, dataset.All(70), tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Originals) != 70 || len(s.Reconstructions) != 70 || len(s.Grids) != 70 || len(s.Colours) != 24 {
		t.Fatalf("%d pictures, %d reconstructions, %d grids, %d colours", len(s.Originals), len(s.Reconstructions), len(s.Grids), len(s.Colours))
	}
	e := Encoder{Runtime: r}
	for _, i := range []int{0, 63, 64, 69} { // of both batches
		g := encode(t, e, s.Originals[i])
		if !slices.Equal(g.Codes, s.Grids[i].Codes) || !bytes.Equal(decode(t, e, g).Pix, s.Reconstructions[i].Pix) {
			t.Errorf("picture %d has other codes or pixels", i)
		}
	}
	parts, err := s.Figures()
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts (%v)", len(parts), err)
	}
	page := report.New("Sample", "")
	page.Section("Pictures", "", parts...)
	var text bytes.Buffer
	if err := page.Render(&text); err != nil || strings.Count(text.String(), "<img") != 2 {
		t.Errorf("%d pictures on the page (%v)", strings.Count(text.String(), "<img"), err)
	}
	if *pagePath != "" {
		if err := page.WriteFile(*pagePath); err != nil {
			t.Fatal(err)
		}
	}
}

// Rows of a grid hold the pictures themselves, their errors and their codes.
func TestSampleGrid(t *testing.T) {
	white, grey := images.NewRGB(8, 8), images.NewRGB(8, 8)
	for i := range white.Pix {
		white.Pix[i], grey.Pix[i] = 255, 100
	}
	colours := []color.RGBA{{R: 1, G: 2, B: 3, A: 255}, {R: 201, G: 7, B: 9, A: 255}}
	codes := Grid{Width: 8, Height: 8, GridWidth: 2, GridHeight: 2, Codes: []uint32{0, 5, 1, 5, 1, 5, 0, 5}} // two positions
	grid := func(originals, reconstructions []*images.RGB, colours []color.RGBA) (*image.RGBA, error) {
		s := Sample{originals, reconstructions, slices.Repeat([]Grid{codes}, len(originals)), colours, 0}
		return s.Grid(len(originals))
	}
	m, err := grid([]*images.RGB{white, grey}, []*images.RGB{grey, grey}, colours)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[color.RGBA]int{}
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			seen[m.RGBAAt(x, y)]++
		}
	}
	none, err := draw.ErrorMap(grey, grey, 1)
	if err != nil {
		t.Fatal(err)
	}
	const place = 128 * 128
	for c, want := range map[color.RGBA]int{
		{R: 255, G: 255, B: 255, A: 255}: place,     // an original
		{R: 100, G: 100, B: 100, A: 255}: 3 * place, // the other one and both reconstructions
		colours[0]:                       place,     // half of the cells of each map
		colours[1]:                       place,
		none.RGBAAt(0, 0):                place, // no error in the second
	} {
		if seen[c] < want || seen[c] > want+2000 { // the legend and letters have colours too
			t.Errorf("%v covers %d pixels, want %d", c, seen[c], want)
		}
	}
	for want, err := range map[string]error{
		"0 pictures, 0 reconstr": second(grid(nil, nil, colours)),
		"1 pictures, 2 reconstr": second(grid([]*images.RGB{white}, []*images.RGB{white, grey}, colours)),
		"cannot be compared":     second(grid([]*images.RGB{white}, []*images.RGB{images.NewRGB(8, 9)}, colours)),
		"has no colour among 1":  second(grid([]*images.RGB{white}, []*images.RGB{grey}, colours[:1])),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func second(_ any, err error) error { return err }

func TestSpreadCodes(t *testing.T) {
	var codes []uint32
	for code := range uint32(40) { // code c is chosen 40 - c times
		codes = append(codes, slices.Repeat([]uint32{code}, int(40-code))...)
	}
	for n, want := range map[int][]uint32{
		1: {0},
		2: {0, 30}, // the last that is chosen 10 times
		4: {0, 10, 20, 30},
		7: {0, 5, 10, 15, 20, 25, 30},
	} {
		if got := spreadCodes(codes, n); !slices.Equal(got, want) {
			t.Errorf("%d codes: %v, want %v", n, got, want)
		}
	}
	if got := spreadCodes(codes, 100); len(got) != 40 || got[39] != 39 {
		t.Errorf("all codes: %v", got)
	}
	if got := spreadCodes([]uint32{4, 4, 9}, 5); !slices.Equal(got, []uint32{4, 9}) {
		t.Errorf("two codes: %v", got)
	}
}
