package draw

import (
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

var (
	red   = color.RGBA{R: 255, A: 255}
	green = color.RGBA{G: 255, A: 255}
	blue  = color.RGBA{B: 255, A: 255}
)

// areaOf is the smallest rectangle that holds every pixel of a colour.
func areaOf(m *image.RGBA, c color.RGBA) image.Rectangle {
	var area image.Rectangle
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			if m.RGBAAt(x, y) == c {
				area = area.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return area
}

func TestGridAlignsPicturesAndEnlargesSmallOnes(t *testing.T) {
	rows := []Row{
		{Pictures: []image.Image{uniform(100, 50, red), uniform(100, 50, green)}},
		{Pictures: []image.Image{nil, uniform(20, 10, blue)}}, // five times smaller
	}
	m := Grid(rows, nil)
	want := map[color.RGBA]image.Rectangle{
		red:   image.Rect(margin, margin, margin+200, margin+100),
		green: image.Rect(margin+200+gap, margin, margin+400+gap, margin+100),
		blue:  image.Rect(margin+200+gap, margin+100+gap, margin+400+gap, margin+200+gap),
	}
	for c, area := range want {
		if got := areaOf(m, c); got != area {
			t.Errorf("colour %v fills %v, want %v", c, got, area)
		}
	}
	if got := m.Rect.Size(); got != image.Pt(2*margin+400+gap, 2*margin+200+gap) {
		t.Errorf("the grid has %v pixels", got)
	}
}

func TestAPictureThatFitsBadlyStandsInTheMiddle(t *testing.T) {
	m := Grid([]Row{{Pictures: []image.Image{uniform(200, 200, green), uniform(30, 90, red)}}}, nil)
	left := margin + 200 + gap // enlarged twice: 60 x 180
	if got, want := areaOf(m, red), image.Rect(left+70, margin+10, left+130, margin+190); got != want {
		t.Errorf("it fills %v, want %v", got, want)
	}
}

func TestTextMovesPicturesAndIsDrawn(t *testing.T) {
	row := Row{Title: "original", Pictures: []image.Image{uniform(128, 128, red)}, Captions: []string{"a caption that is far too long"}}
	m := Grid([]Row{row}, uniform(300, 9, blue))
	area := areaOf(m, red)
	if want := image.Pt(margin+textWidth("original")+2*gap, margin); area.Min != want || area.Size() != image.Pt(128, 128) {
		t.Errorf("the picture fills %v, want its corner at %v", area, want)
	}
	for name, place := range map[string]image.Rectangle{
		"title":   image.Rect(margin, area.Min.Y, area.Min.X-gap, area.Max.Y),
		"caption": image.Rect(area.Min.X, area.Max.Y, area.Max.X, area.Max.Y+lineHeight),
	} {
		if dark := darkest(m, place); dark > 150 {
			t.Errorf("the %s is missing: nothing darker than %d", name, dark)
		}
	}
	if dark := darkest(m, image.Rect(area.Max.X, area.Max.Y, m.Rect.Max.X, area.Max.Y+lineHeight)); dark < 250 {
		t.Error("the caption is wider than its picture")
	}
	if legend := areaOf(m, blue); legend.Min.X != area.Min.X || legend.Size() != image.Pt(300, 9) || legend.Max.Y >= m.Rect.Max.Y {
		t.Errorf("the legend fills %v of %v", legend, m.Rect)
	}
}

func darkest(m *image.RGBA, place image.Rectangle) uint8 {
	least := uint8(255)
	for y := place.Min.Y; y < place.Max.Y; y++ {
		for x := place.Min.X; x < place.Max.X; x++ {
			least = min(least, m.RGBAAt(x, y).G)
		}
	}
	return least
}

func TestAnEmptyGridIsAnEmptySheet(t *testing.T) {
	if m := Grid(nil, nil); m.Rect.Empty() {
		t.Error("nothing at all")
	}
}

func TestWritePNG(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.png")
	m := uniform(3, 2, red)
	m.SetRGBA(2, 1, blue)
	if err := WritePNG(path, m); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	back, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := flat(back); string(got.Pix) != string(m.Pix) {
		t.Errorf("read back %v, want %v", got.Pix, m.Pix)
	}
	if err := WritePNG(filepath.Join(t.TempDir(), "no", "x.png"), m); err == nil {
		t.Error("written into a folder that does not exist")
	}
	if err := WritePNG(path, image.NewRGBA(image.Rect(0, 0, 0, 0))); err == nil {
		t.Error("an empty picture was written")
	}
}
