package main

import (
	"strconv"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// pictureMeasure is a score of the picture tables.
type pictureMeasure = measure[pictureRun]

// held makes a measure of the held-out pictures.
func held(title string, decimals int, goal float64, of func(picture.Scores) float64) pictureMeasure {
	return pictureMeasure{title, decimals, false, goal, func(r pictureRun) float64 { return r.scored(of) }}
}

var (
	psnr         = held("PSNR (dB)", 2, 1, func(s picture.Scores) float64 { return s.PSNR })
	ssim         = held("SSIM", 4, 1, func(s picture.Scores) float64 { return s.SSIM })
	lpips        = held("LPIPS", 4, -1, func(s picture.Scores) float64 { return s.LPIPS })
	frechet      = held("Frechet", 2, -1, func(s picture.Scores) float64 { return s.Frechet })
	kid          = held("KID", 4, -1, func(s picture.Scores) float64 { return s.KID })
	bitsPerPixel = held("bits/pixel", 4, 0, func(s picture.Scores) float64 { return s.BitsPerPixel })
	usedTraining = pictureMeasure{"codes used, training", 1, true, 1, func(r pictureRun) float64 {
		return r.onTraining(func(s tokenizer.PictureScores) float64 { return s.Utilization.Mean })
	}}
	usedHeld = pictureMeasure{"codes used, held out", 1, true, 1, func(r pictureRun) float64 {
		return r.scored(func(s picture.Scores) float64 { return s.Utilization.Mean })
	}}
)

// pictureMeasures are the columns of a full table.
var pictureMeasures = []pictureMeasure{
	psnr, ssim, lpips, frechet, kid, usedTraining, usedHeld,
	{"tokens/code, training", 1, false, 0, func(r pictureRun) float64 {
		return r.onTraining(func(s tokenizer.PictureScores) float64 { return s.TokensPerCode })
	}},
	held("tokens/code, held out", 1, 0, func(s picture.Scores) float64 { return s.TokensPerCode }),
	{"dead", 1, true, 0, func(r pictureRun) float64 {
		return r.onTraining(func(s tokenizer.PictureScores) float64 { return s.DeadRate })
	}},
	held("perplexity", 0, 0, func(s picture.Scores) float64 { return s.Perplexity.Mean }),
	bitsPerPixel,
	held("bits/pixel, coded", 4, 0, func(s picture.Scores) float64 { return s.CodedBitsPerPixel }),
	{"seconds", 0, false, 0, func(r pictureRun) float64 { return r.Train.Seconds }},
}

// scalingSweep is a measure of methods at numbers of codes.
func scalingSweep(m pictureMeasure) sweep[pictureRun] {
	return sweep[pictureRun]{m, scalingContestants, displayName, scalingCodes, pictureRun.codes}
}

// levelTable compares methods at every number of levels.
func levelTable(runs []pictureRun) report.Table {
	measures := []pictureMeasure{bitsPerPixel, psnr, ssim, lpips, frechet, kid, usedTraining}
	t := report.Table{Columns: []report.Column{{Name: "levels"}, {Name: "method", Align: report.Left}}}
	for _, m := range measures {
		t.Columns = append(t.Columns, report.Column{Name: m.title, Align: report.Right})
	}
	for _, levels := range levelCounts {
		first := len(t.Rows)
		for _, c := range levelContestants {
			t.Rows = append(t.Rows, report.Cells(strconv.Itoa(levels), displayName(c.method)))
		}
		for _, m := range measures {
			var rivals []sample
			for _, c := range levelContestants {
				rivals = append(rivals, sampleOf(of(runs, c.method, func(r pictureRun) bool { return r.levels() == levels }), m))
			}
			for i, cell := range m.column(rivals, pooled(rivals)) {
				t.Rows[first+i] = append(t.Rows[first+i], cell)
			}
		}
	}
	return t
}
