package compare

import (
	"bytes"
	"cmp"
	"fmt"
	"image/png"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture/draw"
)

// sampleFigure draws held-out pictures above the reconstructions of every method. Methods whose first seed held
// out other pictures do not show.
func sampleFigure(summaries []Summary) (figure report.Figure, drawn bool, err error) {
	var rows []draw.Row
	for _, s := range summaries {
		r := s.records[0]
		if len(r.Samples) == 0 || r.Seed != summaries[0].records[0].Seed {
			continue
		}
		originals, row := draw.Row{Title: "original"}, draw.Row{Title: s.Method}
		for _, sample := range r.Samples {
			original, failed := png.Decode(bytes.NewReader(sample.Original))
			decoded, err := png.Decode(bytes.NewReader(sample.Decoded))
			if err = cmp.Or(failed, err); err != nil {
				return figure, false, fmt.Errorf("a record holds a damaged picture: %w; remove its file from cells/ and repeat the command", err)
			}
			caption := "identical"
			if sample.PSNR != nil {
				caption = fmt.Sprintf("%.1f dB", *sample.PSNR)
			}
			originals.Pictures = append(originals.Pictures, original)
			row.Pictures, row.Captions = append(row.Pictures, decoded), append(row.Captions, caption)
		}
		if rows == nil {
			rows = append(rows, originals)
		}
		rows = append(rows, row)
	}
	if rows == nil {
		return figure, false, nil
	}
	var content bytes.Buffer
	if err := png.Encode(&content, draw.Grid(rows, nil)); err != nil {
		return figure, false, err
	}
	return report.Figure{Title: "Originals and reconstructions", PNG: content.Bytes(),
		Alt:     fmt.Sprintf("%d pictures above the reconstructions of %d methods", len(rows[0].Pictures), len(rows)-1),
		Caption: "The first row is the originals; the number below a picture is its PSNR."}, true, nil
}
