package picture

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/phase"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture/draw"
	"github.com/gritvq/gritvq/tokenizer"
)

// Sample holds pictures of the trained size, their reconstructions and codes.
type Sample struct {
	Originals, Reconstructions []*images.RGB
	Grids                      []Grid
	Colours                    []color.RGBA // of the codes, from Colours
	phases                     int          // of the cells; 0 for one
}

// Take encodes and decodes the centres of pictures. Damaged pictures are left out.
func Take(ctx context.Context, r *tokenizer.Runtime, set dataset.Set, rows dataset.Selection, o tokenizer.Options) (*Sample, error) {
	colours, err := Colours(r)
	if err != nil {
		return nil, err
	}
	s := &Sample{Colours: colours, phases: r.Tokenizer().Quantizer.Layout().Phases}
	c := r.Tokenizer().Spec.Model.Image
	_, _, err = r.Evaluate(ctx, set, rows, o, func(b tokenizer.Coded) error {
		s.add(b, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(s.Originals) == 0 {
		return nil, fmt.Errorf("none of the %d pictures of %s could be read", rows.Len(), set.Path())
	}
	return s, nil
}

func (s *Sample) add(b tokenizer.Coded, c tokenizer.Image) {
	n := b.Items.N
	for i := range n {
		part := func(pixels []uint8) *images.RGB {
			m := images.NewRGB(c.Size, c.Size)
			copy(m.Pix, pixels[i*c.Input():])
			return m
		}
		s.Originals = append(s.Originals, part(b.Items.Pixels))
		s.Reconstructions = append(s.Reconstructions, part(b.Decoded.Pixels))
		each := len(b.Codes) / n
		s.Grids = append(s.Grids, Grid{
			Width: c.Size, Height: c.Size, GridWidth: c.Grid(), GridHeight: c.Grid(),
			Codes: append([]uint32{}, b.Codes[i*each:(i+1)*each]...),
		})
	}
}

// Grid draws at most the given number of pictures above their reconstructions, error maps and code maps.
func (s *Sample) Grid(most int) (*image.RGBA, error) {
	n := min(most, len(s.Originals))
	if n < 1 || len(s.Reconstructions) != len(s.Originals) || len(s.Grids) != len(s.Originals) {
		return nil, fmt.Errorf("%d pictures, %d reconstructions and %d grids of codes cannot be drawn; give at least one, and as many of each",
			len(s.Originals), len(s.Reconstructions), len(s.Grids))
	}
	above, below := asImages(s.Originals[:n]), asImages(s.Reconstructions[:n])
	full, err := draw.FullError(above, below)
	if err != nil {
		return nil, err
	}
	wrong, codes := draw.Row{Title: "error"}, draw.Row{Title: "codes"}
	closeness := make([]string, n)
	for i, g := range s.Grids[:n] {
		m, err := draw.ErrorMap(above[i], below[i], full)
		if err != nil {
			return nil, err
		}
		wrong.Pictures = append(wrong.Pictures, m)
		if m, err = draw.CodeMap(s.first(g), g.GridHeight, g.GridWidth, s.Colours); err != nil {
			return nil, err
		}
		codes.Pictures = append(codes.Pictures, m)
		if closeness[i], err = decibels(s.Originals[i], s.Reconstructions[i]); err != nil {
			return nil, err
		}
	}
	rows := []draw.Row{{Title: "original", Pictures: above}, {Title: "decoded", Pictures: below, Captions: closeness}, wrong, codes}
	return draw.Grid(rows, draw.ErrorLegend(full, 256)), nil
}

const patchExamples = 10

// PatchSheet draws patches of codes, from the most frequent to rare ones, in even steps of rank.
func (s *Sample) PatchSheet(most int) (*image.RGBA, error) {
	var codes []uint32
	for _, g := range s.Grids {
		codes = append(codes, s.first(g)...)
	}
	g := s.Grids[0]
	cell := g.Width / g.GridWidth
	patches, err := draw.CutPatches(asImages(s.Originals), codes, g.GridHeight, g.GridWidth, spreadCodes(codes, most), patchExamples, cell/2)
	if err != nil {
		return nil, err
	}
	return draw.PatchSheet(patches, s.Colours), nil
}

// spreadCodes chooses up to n codes in even steps of rank by frequency, the most frequent first. Codes with too few
// patches to fill a line are skipped if there are others.
func spreadCodes(codes []uint32, n int) []uint32 {
	counts := map[uint32]int{}
	for _, code := range codes {
		counts[code]++
	}
	ranked := draw.FrequentCodes(codes, len(counts))
	full := len(ranked)
	for full > n && counts[ranked[full-1]] < patchExamples {
		full--
	}
	n = min(n, full)
	chosen := make([]uint32, n)
	for i := range chosen {
		chosen[i] = ranked[i*(full-1)/max(n-1, 1)]
	}
	return chosen
}

// Figures returns the figures of a report: reconstructions, and patches of codes.
func (s *Sample) Figures() ([]report.Part, error) {
	const width, lines = 1280, 16 // pixels of a page, codes of a sheet
	shown := min(max(width/max(128, s.Originals[0].Width), 3), 8)
	grid, err := s.Grid(shown)
	if err != nil {
		return nil, err
	}
	sheet, err := s.PatchSheet(lines)
	if err != nil {
		return nil, err
	}
	var parts []report.Part
	for _, f := range []struct {
		m                   *image.RGBA
		title, caption, alt string
	}{
		{grid, "Pictures and their reconstructions",
			"Decoded pictures should look like the originals; bright spots of the error maps show where they do not. " +
				"On the maps of codes, cells of similar colour have similar codes.",
			fmt.Sprintf("%d pictures above their reconstructions, error maps and maps of codes", min(shown, len(s.Originals)))},
		{sheet, "Patches of codes",
			"A line for each of some codes, from the most frequent to rare ones: the mean of the places where it was chosen, and examples. " +
				"The frame is the code's own cell. A good code shows the same thing in every example.",
			"for each of some codes, the mean of its patches and examples of them"},
	} {
		var content bytes.Buffer
		if err := png.Encode(&content, f.m); err != nil {
			return nil, err
		}
		parts = append(parts, report.Figure{Title: f.title, PNG: content.Bytes(), Caption: f.caption, Alt: f.alt})
	}
	return parts, nil
}

// mostColoured is the largest vocabulary with colours by similarity.
const mostColoured = 1 << 16

// Colours returns a colour for every code of the first position, of all phases; similar codes have similar ones.
func Colours(r *tokenizer.Runtime) ([]color.RGBA, error) {
	layout := r.Tokenizer().Quantizer.Layout()
	var codes []float32
	for slot := 0; slot < layout.Slots(); slot += layout.Positions() {
		codes = append(codes, r.Codebooks()[slot].Data...)
	}
	dim := r.Codebooks()[0].Shape[1]
	if k := len(codes) / dim; k > mostColoured {
		return draw.HashedColours(k), nil
	}
	return draw.CodebookColours(codes, len(codes)/dim, dim)
}

// first returns the codes [GridHeight, GridWidth] of the first position; those of later phases follow the earlier ones.
func (s *Sample) first(g Grid) []uint32 {
	positions := g.Positions()
	codes := make([]uint32, g.GridWidth*g.GridHeight)
	for i := range codes {
		codes[i] = g.Codes[i*positions]
		if p := phase.Of(s.phases, i/g.GridWidth, i%g.GridWidth); p > 0 {
			codes[i] += uint32(p * len(s.Colours) / s.phases)
		}
	}
	return codes
}

func asImages(pictures []*images.RGB) []image.Image {
	list := make([]image.Image, len(pictures))
	for i, p := range pictures {
		list[i] = p
	}
	return list
}

func decibels(a, b *images.RGB) (string, error) {
	psnr, err := eval.PSNR(a.Pix, b.Pix)
	return fmt.Sprintf("%.1f dB", psnr), err
}
