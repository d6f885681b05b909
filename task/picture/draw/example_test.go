package draw_test

import (
	"fmt"
	"image"
	"image/color"

	"github.com/gritvq/gritvq/task/picture/draw"
)

// twoTones stands for a picture: dark on the left, light on the right.
func twoTones(dark, light uint8) image.Image {
	m := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range m.Pix {
		m.Pix[i] = dark
		if i%64 >= 32 {
			m.Pix[i] = light
		}
	}
	return m
}

// Originals above reconstructions above error maps with one common scale.
func ExampleGrid() {
	originals := []image.Image{twoTones(20, 200), twoTones(90, 120)}
	decoded := []image.Image{twoTones(26, 190), twoTones(90, 135)}
	full, err := draw.FullError(originals, decoded)
	if err != nil {
		fmt.Println(err)
		return
	}
	errors := make([]image.Image, len(originals))
	for i := range originals {
		if errors[i], err = draw.ErrorMap(originals[i], decoded[i], full); err != nil {
			fmt.Println(err)
			return
		}
	}
	grid := draw.Grid([]draw.Row{
		{Title: "original", Pictures: originals},
		{Title: "decoded", Pictures: decoded, Captions: []string{"28.8 dB", "27.6 dB"}},
		{Title: "error", Pictures: errors},
	}, draw.ErrorLegend(full, 256))
	fmt.Println("errors up to", full, "levels; a grid of", grid.Rect.Size(), "pixels")
	// Output: errors up to 16 levels; a grid of (372,508) pixels
}

// What do the most frequent codes look like?
func ExamplePatchSheet() {
	originals := []image.Image{twoTones(20, 200)}
	codes := []uint32{3, 9, 3, 9} // 2 x 2 cells of 32 pixels
	patches, err := draw.CutPatches(originals, codes, 2, 2, draw.FrequentCodes(codes, 2), 4, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range patches {
		fmt.Println("code", p.Code, "chosen", p.Count, "times, mean", p.Mean.RGBAAt(0, 0).R)
	}
	sheet := draw.PatchSheet(patches, draw.HashedColours(16))
	fmt.Println(sheet.Rect.Dx() > 0)
	// Output:
	// code 3 chosen 2 times, mean 20
	// code 9 chosen 2 times, mean 200
	// true
}

// Codes that lie close to each other in the codebook look alike on a map.
func ExampleCodeMap() {
	codebook := []float32{0, 0, 0.1, 0, 5, 5} // 3 codes of 2 values
	colours, err := draw.CodebookColours(codebook, 3, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := draw.CodeMap([]uint32{0, 1, 2, 2}, 2, 2, colours)
	if err != nil {
		fmt.Println(err)
		return
	}
	apart := func(a, b color.RGBA) int { return max(int(a.R)-int(b.R), int(b.R)-int(a.R)) }
	fmt.Println(m.Rect.Size(), apart(colours[0], colours[1]) < apart(colours[0], colours[2]))
	// Output: (2,2) true
}
