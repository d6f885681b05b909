package draw

import (
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"
)

// numbered is a picture whose pixels all differ.
func numbered(width, height, number int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{R: uint8(10 * x), G: uint8(10 * y), B: uint8(100 * number), A: 255})
		}
	}
	return m
}

func TestFrequentCodesComeFirst(t *testing.T) {
	codes := []uint32{7, 3, 3, 9, 9, 1}
	for n, want := range map[int][]uint32{2: {3, 9}, 3: {3, 9, 1}, 9: {3, 9, 1, 7}} {
		if got := FrequentCodes(codes, n); !slices.Equal(got, want) {
			t.Errorf("the first %d are %v, want %v", n, got, want)
		}
	}
}

func TestPatchesAreTheCellsOfTheirCode(t *testing.T) {
	originals := []image.Image{numbered(6, 4, 0), numbered(6, 4, 1)}
	codes := []uint32{ // 2 rows of 3 cells of 2 x 2 pixels each
		5, 5, 8,
		8, 8, 5,
		8, 8, 8,
		8, 5, 8,
	}
	list, err := CutPatches(originals, codes, 2, 3, []uint32{5, 6}, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	five, six := list[0], list[1]
	if five.Code != 5 || five.Count != 4 || len(five.Examples) != 3 || six.Count != 0 || six.Mean != nil || six.Examples != nil {
		t.Fatalf("patches %+v", list)
	}
	// Of the places (0,0), (2,0), (4,2) and (2,2) in the second picture, three
	// evenly spread ones: numbers 0, 1 and 2.
	for i, want := range []color.RGBA{{A: 255}, {R: 20, A: 255}, {R: 40, G: 20, A: 255}} {
		if got := five.Examples[i].RGBAAt(0, 0); got != want || five.Examples[i].Rect.Size() != image.Pt(2, 2) {
			t.Errorf("example %d begins with %v, want %v", i, got, want)
		}
	}
	// Means of R 0, 20, 40, 20; G 0, 0, 20, 20; B 0, 0, 0, 100.
	if got, want := five.Mean.RGBAAt(0, 0), (color.RGBA{R: 20, G: 10, B: 25, A: 255}); got != want {
		t.Errorf("the mean begins with %v, want %v", got, want)
	}
	if got, want := five.Mean.RGBAAt(1, 1), (color.RGBA{R: 30, G: 20, B: 25, A: 255}); got != want {
		t.Errorf("the mean ends with %v, want %v", got, want)
	}
}

func TestMarginsRepeatTheBorder(t *testing.T) {
	list, err := CutPatches([]image.Image{numbered(4, 4, 0)}, []uint32{1, 2, 2, 2}, 2, 2, []uint32{1}, 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	p := list[0].Examples[0]
	if p.Rect.Size() != image.Pt(8, 8) {
		t.Fatalf("a patch of %v", p.Rect.Size())
	}
	for at, want := range map[image.Point]color.RGBA{
		{X: 0, Y: 0}: {A: 255}, {X: 3, Y: 3}: {A: 255}, {X: 4, Y: 3}: {R: 10, A: 255},
		{X: 6, Y: 5}: {R: 30, G: 20, A: 255}, {X: 7, Y: 7}: {R: 30, G: 30, A: 255},
	} {
		if got := p.RGBAAt(at.X, at.Y); got != want {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
}

func TestPatchesNeedPicturesThatMatchTheirCodes(t *testing.T) {
	one := []image.Image{numbered(4, 4, 0)}
	for reason, call := range map[string]func() error{
		"are no 1 maps of 2 x 2": func() error { _, err := CutPatches(one, make([]uint32, 3), 2, 2, nil, 1, 0); return err },
		"no pictures":            func() error { _, err := CutPatches(nil, nil, 2, 2, nil, 1, 0); return err },
		"no 3 x 3 square cells":  func() error { _, err := CutPatches(one, make([]uint32, 9), 3, 3, nil, 1, 0); return err },
		"picture 1 has (2,4) pixels": func() error {
			_, err := CutPatches([]image.Image{one[0], numbered(2, 4, 0)}, make([]uint32, 8), 2, 2, nil, 1, 0)
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("error %v, want one with %q", err, reason)
		}
	}
}

func TestPatchSheetShowsMeanAndExamplesInLine(t *testing.T) {
	list := []Patches{
		{Code: 0, Count: 2, Mean: uniform(8, 8, red), Examples: []*image.RGBA{uniform(8, 8, green), uniform(8, 8, green)}},
		{Code: 1},
	}
	m := PatchSheet(list, []color.RGBA{blue})
	mean, examples, swatch := areaOf(m, red), areaOf(m, green), areaOf(m, blue)
	if mean.Size() != image.Pt(56, 56) || examples.Size() != image.Pt(2*56+gap, 56) {
		t.Errorf("the mean fills %v, the examples %v", mean, examples)
	}
	if mean.Min.Y != examples.Min.Y || swatch.Min.Y != mean.Min.Y || !(swatch.Max.X < mean.Min.X && mean.Max.X < examples.Min.X) {
		t.Errorf("swatch %v, mean %v and examples %v are not side by side", swatch, mean, examples)
	}
	framed := PatchSheet([]Patches{{Mean: uniform(8, 8, red), Count: 1, Margin: 2}}, nil)
	corner := areaOf(framed, red).Min
	inner := framed.RGBAAt(corner.X+14, corner.Y+14) // 2 pixels enlarged 7 times
	if inner == red || inner.R < 200 || framed.RGBAAt(corner.X+13, corner.Y+13) != red || framed.RGBAAt(corner.X+15, corner.Y+15) != red {
		t.Errorf("no frame around the cell: %v", inner)
	}
}
