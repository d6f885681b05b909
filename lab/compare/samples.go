package compare

import (
	"bytes"
	"fmt"
	"image"
	"image/png"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// sampleFigure draws held-out pictures over what every method made of them, best
// method first, each with its PSNR. Methods whose first seed held out other
// pictures do not show; there is no figure where records hold no pictures.
func sampleFigure(summaries []Summary) (figure report.Figure, drawn bool, err error) {
	var rows []draw.Row
	for _, s := range summaries {
		r := s.records[0]
		if len(r.Samples) == 0 || len(rows) > 0 && r.Seed != summaries[0].records[0].Seed {
			continue
		}
		row := draw.Row{Title: s.Method}
		if len(rows) == 0 {
			first := draw.Row{Title: "original"}
			for _, sample := range r.Samples {
				m, err := decodePNG(sample.Original)
				if err != nil {
					return figure, false, err
				}
				first.Pictures = append(first.Pictures, m)
			}
			rows = append(rows, first)
		}
		for _, sample := range r.Samples {
			m, err := decodePNG(sample.Decoded)
			if err != nil {
				return figure, false, err
			}
			row.Pictures, row.Captions = append(row.Pictures, m), append(row.Captions, sample.caption())
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return figure, false, nil
	}
	var content bytes.Buffer
	if err := png.Encode(&content, draw.Grid(rows, nil)); err != nil {
		return figure, false, err
	}
	return report.Figure{Title: "Originals and reconstructions", PNG: content.Bytes(), Alt: fmt.Sprintf("%d pictures above the reconstructions of %d methods", len(rows[0].Pictures), len(rows)-1),
		Caption: "The first row is the originals; the number below a picture is its PSNR."}, true, nil
}

func decodePNG(file []byte) (image.Image, error) {
	m, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("a record holds a damaged picture: %w; remove its file from cells/ and repeat the command", err)
	}
	return m, nil
}

// caption words how close the reconstruction is.
func (s Sample) caption() string {
	if s.PSNR == nil {
		return "identical"
	}
	return fmt.Sprintf("%.1f dB", *s.PSNR)
}
