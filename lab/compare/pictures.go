package compare

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/png"
	"math"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/picture/draw"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// OfPictures is the kind of comparisons of pictures.
var OfPictures = &Kind{
	Items: "pictures",
	Measures: []table.Measure{
		{Name: "psnr", Title: "psnr", Note: "in dB, held out: higher is better",
			Goal: table.Higher, Resolution: table.PSNRResolution, Text: table.Digits(4)},
		{Name: "ssim", Title: "ssim", Note: "held out: 1 is perfect", Goal: table.Higher, Text: table.Digits(4)},
		{Name: "lpips", Title: "lpips", Note: "perceptual distance, held out: lower is better", Goal: table.Lower, Text: table.Digits(4)},
		{Name: "frechet", Title: "frechet", Note: "distance of the features of originals and reconstructions",
			Goal: table.Lower, Text: table.Digits(4)},
		{Name: "kid", Title: "kid", Note: "kernel distance of the same features", Goal: table.Lower, Text: table.Digits(3)},
		{Name: "mse", Title: "mse", Note: "of pixels from 0 to 1", Goal: table.Lower, Text: table.Digits(4), Wide: true},
		{Name: "utilization", Title: "used", Note: "share of the codes that training or held-out pictures use",
			Goal: table.Higher, Text: table.Share},
		{Name: "tokens_per_code", Title: "tokens/code", Note: "from which use, dead codes and perplexity are counted", Text: table.Mean(3)},
		{Name: "dead_rate", Title: "dead", Note: "share of the codes that none of them uses", Goal: table.Lower, Text: table.Share},
		{Name: "perplexity", Title: "perplexity", Text: table.Digits(4)},
		{Name: "utilization_held", Title: "used, held out", Text: table.Share, Wide: true},
		{Name: "tokens_per_code_held", Title: "tokens/code, held out", Text: table.Mean(3), Wide: true},
		{Name: "bits_per_pixel", Title: "bits/pixel", Note: "of plain codes, before entropy coding", Text: table.Mean(4), Fixed: true},
		{Name: "train_seconds", Title: "trained in", Text: table.Duration},
		{Name: "parameters", Title: "parameters", Text: table.Short, Fixed: true, Wide: true},
	},
	Decides: "psnr",
	Unit:    "dB",
	Rate:    "bits_per_pixel",
	Charts: []Panel{
		{Measure: "psnr", Title: "Held-out PSNR", Caption: "Higher is better; bars are standard deviations over seeds.", Label: "dB"},
		{Measure: "lpips", Title: "LPIPS", Caption: "Lower is better: distance of pictures to a network that sees like people.", Label: "LPIPS"},
	},
	Curves: []Panel{
		{Measure: "psnr", Title: "Rate and PSNR", Caption: "Held out; bands are standard deviations over seeds.", Label: "dB"},
		{Measure: "lpips", Title: "Rate and LPIPS", Caption: "Held out; lower is better.", Label: "LPIPS"},
		usedOverRate,
	},
	Course: Panel{Title: "Held-out PSNR", Caption: "Higher is better; 3 dB halve the squared error.", Label: "dB"},
	held:   func(h vqtrain.HeldRecord) float64 { return h.PSNR },
	score:  scorePictures,
	fairness: "Every method had the same pictures, bits, network, losses of pixels and features, batches and steps, " +
		"and its own best practice.",
	healthy: "A healthy codebook uses every code, and none of them for most of the pictures. " +
		"Training and held-out pictures, first code of a cell.",
}

const (
	countedPictures = 20_000 // training pictures whose codes are counted
	sampledPictures = 6      // held-out pictures kept for the page
)

func scorePictures(ctx context.Context, s *subject, t trained, r *Record) error {
	scores, held, err := picture.Evaluate(ctx, t.runtime, t.source.HeldSet, t.source.Held, s.networks, picture.Options{Backend: t.backend})
	if err != nil {
		return err
	}
	if math.IsNaN(scores.PSNR) || math.IsInf(scores.PSNR, 0) {
		return errors.New("the PSNR of the held-out pictures is not finite: training diverged")
	}
	all, err := countCodes(ctx, t.runtime, t.source.Set, t.source.Train.Head(countedPictures), nil)
	if err != nil {
		return err
	}
	if err := all.Merge(held); err != nil {
		return err
	}
	use := all.Mean()
	for name, value := range map[string]float64{
		"psnr": scores.PSNR, "ssim": scores.SSIM, "mse": scores.MSE, "lpips": scores.LPIPS, "frechet": scores.Frechet, "kid": scores.KID,
		"bits_per_pixel": scores.BitsPerPixel, "utilization_held": scores.Utilization.Mean, "tokens_per_code_held": scores.TokensPerCode,
		"utilization": use.Utilization, "dead_rate": use.DeadRate, "perplexity": use.Perplexity, "tokens_per_code": use.TokensPerCode,
	} {
		if table.Finite(value) != nil {
			r.Scores[name] = value
		}
	}
	r.count(all)
	r.Notes = append(r.Notes, scores.Notes...)
	r.Samples, err = samples(ctx, t.runtime, t.source)
	return err
}

func samples(ctx context.Context, r *tokenizer.Runtime, s vqtrain.Source) ([]Sample, error) {
	taken, err := picture.Take(ctx, r, s.HeldSet, s.Held.Head(sampledPictures), tokenizer.Options{})
	if err != nil {
		return nil, err
	}
	var kept []Sample
	for i, original := range taken.Originals {
		decoded := taken.Reconstructions[i]
		psnr, err := eval.PSNR(original.Pix, decoded.Pix)
		if err != nil {
			return nil, err
		}
		var files [2]bytes.Buffer
		if err := cmp.Or(png.Encode(&files[0], original), png.Encode(&files[1], decoded)); err != nil {
			return nil, fmt.Errorf("keeping a picture: %w", err)
		}
		kept = append(kept, Sample{files[0].Bytes(), files[1].Bytes(), table.Finite(psnr)})
	}
	return kept, nil
}

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
			caption := "identical" // records of earlier versions
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
