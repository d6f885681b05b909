package draw

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"maps"
	"slices"
	"strconv"
)

// Patches are parts of pictures, of one size, at places where a code was chosen.
type Patches struct {
	Code     uint32
	Count    int           // how often it was chosen
	Mean     *image.RGBA   // over all those places; nil if there are none
	Examples []*image.RGBA // some of them, evenly spread
	Margin   int           // pixels around the code's own cell
}

// FrequentCodes returns up to n codes, the most frequent first, ties by number.
func FrequentCodes(codes []uint32, n int) []uint32 {
	counts := map[uint32]int{}
	for _, code := range codes {
		counts[code]++
	}
	list := slices.SortedFunc(maps.Keys(counts), func(a, b uint32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return list[:min(n, len(list))]
}

// CutPatches cuts the cells of every chosen code out of the originals, at most examples of each, with margin pixels around
// them; the border is repeated. codes are [len(originals), height, width]; the sides of an original must be the same
// multiple of height and width.
func CutPatches(originals []image.Image, codes []uint32, height, width int, chosen []uint32, examples, margin int) ([]Patches, error) {
	if height < 1 || width < 1 || len(codes) != len(originals)*height*width {
		return nil, fmt.Errorf("%d codes are no %d maps of %d x %d", len(codes), len(originals), height, width)
	}
	if len(originals) == 0 {
		return nil, fmt.Errorf("there are no pictures to cut patches from")
	}
	size := originals[0].Bounds().Size()
	cell := size.X / width
	if cell < 1 || size != image.Pt(cell*width, cell*height) {
		return nil, fmt.Errorf("pictures of %v pixels have no %d x %d square cells", size, height, width)
	}
	places := map[uint32][]int{}
	for _, code := range chosen {
		places[code] = nil
	}
	for i, code := range codes {
		if list, wanted := places[code]; wanted {
			places[code] = append(list, i)
		}
	}
	flattened := make([]*image.RGBA, len(originals))
	for i, original := range originals {
		if original.Bounds().Size() != size {
			return nil, fmt.Errorf("picture %d has %v pixels, the first one %v; give pictures of one size", i, original.Bounds().Size(), size)
		}
		flattened[i] = flat(original)
	}
	cut := func(place int) *image.RGBA {
		inside := place % (height * width)
		corner := image.Pt(inside%width*cell-margin, inside/width*cell-margin)
		return patch(flattened[place/(height*width)], corner, cell+2*margin)
	}
	result := make([]Patches, len(chosen))
	for i, code := range chosen {
		list := places[code]
		result[i] = Patches{Code: code, Count: len(list), Margin: margin}
		if len(list) == 0 {
			continue
		}
		result[i].Mean = meanPatch(list, cut)
		shown := min(examples, len(list))
		for j := range shown {
			result[i].Examples = append(result[i].Examples, cut(list[j*len(list)/shown]))
		}
	}
	return result, nil
}

// patch copies a square whose corner may lie outside m.
func patch(m *image.RGBA, corner image.Point, side int) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			fromX, fromY := min(max(corner.X+x, 0), m.Rect.Dx()-1), min(max(corner.Y+y, 0), m.Rect.Dy()-1)
			copy(p.Pix[y*p.Stride+x*4:][:4], m.Pix[fromY*m.Stride+fromX*4:])
		}
	}
	return p
}

func meanPatch(places []int, cut func(place int) *image.RGBA) *image.RGBA {
	var sums []int
	var mean *image.RGBA
	for _, place := range places {
		mean = cut(place)
		if sums == nil {
			sums = make([]int, len(mean.Pix))
		}
		for i, v := range mean.Pix {
			sums[i] += int(v)
		}
	}
	for i, sum := range sums {
		mean.Pix[i] = uint8((sum + len(places)/2) / len(places))
	}
	return mean
}

// PatchSheet draws a line for every code: its colour on code maps (if colours has one), number, count, mean patch and
// examples. With a margin, a frame marks the code's own cell.
func PatchSheet(list []Patches, colours []color.RGBA) *image.RGBA {
	const shownSide, swatch = 56, 10
	side, factor, most, label := 1, 1, 0, 0
	for _, p := range list {
		if p.Mean != nil {
			side = p.Mean.Rect.Dx()
			factor = max((shownSide+side-1)/side, 1)
		}
		most = max(most, len(p.Examples))
		label = max(label, textWidth(codeLabel(p)), textWidth(countLabel(p)))
	}
	shown := side * factor
	left := margin + swatch + gap + label + 2*gap
	examples := left + shown + 4*gap
	line := max(shown, 2*lineHeight)
	m := blank(examples+max(most*(shown+gap)-gap, textWidth("examples"))+margin, 2*margin+lineHeight+len(list)*(line+gap)-gap)
	text(m, left+(shown-textWidth("mean"))/2, margin-gap/2, "mean", faint)
	text(m, examples, margin-gap/2, "examples", faint)
	for i, p := range list {
		y := margin + lineHeight + i*(line+gap)
		if int64(p.Code) < int64(len(colours)) {
			fillBox(m, image.Rect(margin, y, margin+swatch, y+line), colours[p.Code])
		} else {
			fillBox(m, image.Rect(margin, y, margin+swatch, y+line), border)
		}
		bold(m, margin+swatch+gap, y+line/2-lineHeight, codeLabel(p), ink)
		text(m, margin+swatch+gap, y+line/2, countLabel(p), faint)
		if p.Mean == nil {
			continue
		}
		drawPatch(m, image.Pt(left, y), p.Mean, factor, p.Margin)
		for j, example := range p.Examples {
			drawPatch(m, image.Pt(examples+j*(shown+gap), y), example, factor, p.Margin)
		}
	}
	return m
}

func codeLabel(p Patches) string { return "code " + strconv.FormatUint(uint64(p.Code), 10) }

func countLabel(p Patches) string {
	switch p.Count {
	case 0:
		return "never chosen"
	case 1:
		return "once"
	}
	return strconv.Itoa(p.Count) + " times"
}

// drawPatch draws an enlarged patch and, inside its margin, the frame of the cell.
func drawPatch(m draw.Image, at image.Point, p *image.RGBA, factor, margin int) {
	large := enlarged(p, factor)
	draw.Draw(m, large.Rect.Add(at), large, image.Point{}, draw.Src)
	if margin == 0 {
		return
	}
	cell := large.Rect.Inset(margin * factor).Add(at)
	if cell.Empty() {
		return
	}
	frame := image.NewUniform(color.NRGBA{R: 255, G: 255, B: 255, A: 170})
	for _, edge := range []image.Rectangle{
		{Min: cell.Min, Max: image.Pt(cell.Max.X, cell.Min.Y+1)},
		{Min: image.Pt(cell.Min.X, cell.Max.Y-1), Max: cell.Max},
		{Min: cell.Min.Add(image.Pt(0, 1)), Max: image.Pt(cell.Min.X+1, cell.Max.Y-1)},
		{Min: image.Pt(cell.Max.X-1, cell.Min.Y+1), Max: cell.Max.Sub(image.Pt(0, 1))},
	} {
		draw.Draw(m, edge, frame, image.Point{}, draw.Over)
	}
}
