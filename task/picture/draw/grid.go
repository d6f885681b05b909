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

// Measures of a grid, in pixels.
const (
	gap       = 6   // between pictures
	margin    = 16  // around everything
	leastTile = 128 // smaller pictures are enlarged by a whole factor
)

// Grid draws rows of pictures and a legend below them, which may be nil. All places have the size of the largest picture;
// smaller ones, such as code maps, are enlarged by the whole factor that fits.
func Grid(rows []Row, legend image.Image) *image.RGBA {
	cell, columns, titles := gridCells(rows)
	left := margin
	if titles > 0 {
		left += titles + 2*gap
	}
	width, height := left+columns*(cell.X+gap)-gap+margin, 2*margin-gap
	for _, row := range rows {
		height += rowHeight(row, cell) + gap
	}
	if legend != nil {
		width = max(width, left+legend.Bounds().Dx()+margin)
		height += legend.Bounds().Dy() + 2*gap
	}
	m := blank(max(width, 2*margin), height)
	y := margin
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
	if legend != nil {
		bounds := legend.Bounds()
		draw.Draw(m, image.Rect(left, y+gap, left+bounds.Dx(), y+gap+bounds.Dy()), legend, bounds.Min, draw.Over)
	}
	return m
}

// gridCells returns the size of a place, places in a row, and the width of the longest title.
func gridCells(rows []Row) (cell image.Point, columns, titles int) {
	for _, row := range rows {
		columns, titles = max(columns, len(row.Pictures)), max(titles, textWidth(row.Title))
		for _, p := range row.Pictures {
			if p != nil {
				cell = image.Pt(max(cell.X, p.Bounds().Dx()), max(cell.Y, p.Bounds().Dy()))
			}
		}
	}
	side := max(cell.X, cell.Y, 1)
	return cell.Mul(max((leastTile+side-1)/side, 1)), columns, titles
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

func clip(line string, width int) string {
	if textWidth(line) <= width {
		return line
	}
	runes := []rune(line)
	return string(runes[:max(width/charWidth-2, 0)]) + ".."
}
