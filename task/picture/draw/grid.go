package draw

import (
	"image"
	"image/draw"
)

// Row is a line of pictures.
type Row struct {
	Title    string        // to the left of the row, may be empty
	Pictures []image.Image // side by side; nil leaves a place empty
	Captions []string      // below the pictures; may be shorter, or nil
}

// Style refines Grid. The zero value suits pictures of 32 to 512 pixels.
type Style struct {
	Heading string      // above everything
	Legend  image.Image // below everything, such as ErrorLegend's
	// Cell is the least side of a picture on the grid; smaller ones are
	// enlarged by a whole factor. 128 when 0.
	Cell int
}

// Distances on a grid.
const (
	gap    = 6  // between pictures
	margin = 16 // around everything
)

// Grid lays out rows of pictures: originals above reconstructions above error
// maps, say. All places are of the size of the largest picture; smaller ones,
// like maps with one pixel a code, are enlarged by the whole factor that fits.
func Grid(rows []Row, style Style) *image.RGBA {
	cell, columns, titles := gridCells(rows, style)
	left := margin
	if titles > 0 {
		left += titles + 2*gap
	}
	width := left + columns*(cell.X+gap) - gap + margin
	if style.Legend != nil {
		width = max(width, left+style.Legend.Bounds().Dx()+margin)
	}
	width = max(width, 2*margin+textWidth(style.Heading))
	height := 2 * margin
	for _, row := range rows {
		height += rowHeight(row, cell) + gap
	}
	if style.Heading != "" {
		height += lineHeight + gap
	}
	if style.Legend != nil {
		height += style.Legend.Bounds().Dy() + 2*gap
	}

	m := blank(width, height-gap)
	y := margin
	if style.Heading != "" {
		bold(m, margin, y, style.Heading, ink)
		y += lineHeight + gap
	}
	for _, row := range rows {
		if row.Title != "" {
			text(m, margin, y+(cell.Y-lineHeight)/2, row.Title, ink)
		}
		for i, p := range row.Pictures {
			place := image.Rect(0, 0, cell.X, cell.Y).Add(image.Pt(left+i*(cell.X+gap), y))
			if p != nil {
				drawFitted(m, place, p)
			}
			if i < len(row.Captions) {
				caption := clip(row.Captions[i], cell.X)
				text(m, place.Min.X+(cell.X-textWidth(caption))/2, place.Max.Y+1, caption, faint)
			}
		}
		y += rowHeight(row, cell) + gap
	}
	if style.Legend != nil {
		bounds := style.Legend.Bounds()
		draw.Draw(m, image.Rect(left, y+gap, left+bounds.Dx(), y+gap+bounds.Dy()), style.Legend, bounds.Min, draw.Over)
	}
	return m
}

// gridCells returns the size of a place, how many there are in a row, and the
// width of the longest title.
func gridCells(rows []Row, style Style) (cell image.Point, columns, titles int) {
	for _, row := range rows {
		columns, titles = max(columns, len(row.Pictures)), max(titles, textWidth(row.Title))
		for _, p := range row.Pictures {
			if p != nil {
				cell = image.Pt(max(cell.X, p.Bounds().Dx()), max(cell.Y, p.Bounds().Dy()))
			}
		}
	}
	least := style.Cell
	if least == 0 {
		least = 128
	}
	side := max(cell.X, cell.Y, 1)
	factor := max((least+side-1)/side, 1)
	return cell.Mul(factor), columns, titles
}

func rowHeight(row Row, cell image.Point) int {
	if len(row.Captions) > 0 {
		return cell.Y + lineHeight
	}
	return cell.Y
}

// drawFitted draws p in the middle of a place, enlarged as far as it fits.
func drawFitted(m draw.Image, place image.Rectangle, p image.Image) {
	size := p.Bounds().Size()
	if size.X == 0 || size.Y == 0 {
		return
	}
	large := enlarged(p, max(min(place.Dx()/size.X, place.Dy()/size.Y), 1))
	corner := place.Min.Add(place.Size().Sub(large.Rect.Size()).Div(2))
	draw.Draw(m, large.Rect.Add(corner), large, image.Point{}, draw.Src)
}

// clip shortens a line to a width.
func clip(line string, width int) string {
	if textWidth(line) <= width {
		return line
	}
	runes := []rune(line)
	return string(runes[:max(width/charWidth-2, 0)]) + ".."
}
