package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/internal/usage"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/picture/draw"
	"github.com/gritvq/gritvq/tokenizer"
)

// codedPicture is what encoding one picture reports.
type codedPicture struct {
	Output       string  `json:"output"`
	Width        int     `json:"width"`
	Height       int     `json:"height"`
	Codes        int     `json:"codes"`
	Bytes        int64   `json:"bytes"`
	BitsPerPixel float64 `json:"bits_per_pixel"`
	PlainBits    float64 `json:"plain_bits_per_pixel"` // of the codes without entropy coding
}

func files(b *bundle.Bundle) picture.Files {
	return picture.Files{Tokenizer: b.Tokenizer, Fingerprint: b.Manifest.Fingerprint(), Entropy: b.Entropy}
}

// encodePicture writes one picture of any size as an entropy-coded file.
func encodePicture(ctx context.Context, s *cli.Streams, o encodeOptions, b *bundle.Bundle, r *tokenizer.Runtime) error {
	set, err := images.Open(ctx, o.input, images.Options{})
	if err != nil {
		return err
	}
	defer set.Close()
	p, err := set.Whole(0)
	if err != nil {
		return err
	}
	grid, err := picture.Encoder{Runtime: r, Options: tokenizer.Options{Levels: o.levels, Beam: o.beam}}.Encode(ctx, p)
	if err != nil {
		return err
	}
	if _, err := files(b).Write(o.output, grid); err != nil {
		return err
	}
	info, err := os.Stat(o.output)
	if err != nil {
		return fmt.Errorf("reading back the result: %w", err)
	}
	pixels := float64(p.Width) * float64(p.Height)
	cell := float64(b.Tokenizer.Spec.Model.Image.Down())
	out := codedPicture{Output: o.output, Width: p.Width, Height: p.Height, Codes: len(grid.Codes), Bytes: info.Size(),
		BitsPerPixel: 8 * float64(info.Size()) / pixels, PlainBits: plainBits(b, o.levels) * float64(grid.GridWidth*grid.GridHeight) / pixels}
	if o.json {
		return s.WriteJSON(out)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %d x %d pixels as %s codes of %g x %g pixels, %sB, %s bits per pixel\n",
		o.output, p.Width, p.Height, report.Count(out.Codes), cell, cell, report.Short(float64(out.Bytes), 3), report.Number(out.BitsPerPixel, 3))
	return err
}

// plainBits is what the codes of a cell take without entropy coding.
func plainBits(b *bundle.Bundle, levels int) float64 {
	bits := 0.0
	for _, k := range b.Tokenizer.Quantizer.Layout().VocabOf(levels) {
		bits += math.Log2(float64(k))
	}
	return bits
}

// isCodedPicture says whether a file holds one entropy-coded picture.
func isCodedPicture(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, len(codes.PictureMagic))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == codes.PictureMagic
}

// decodePicture restores one picture.
func decodePicture(ctx context.Context, s *cli.Streams, o decodeOptions, b *bundle.Bundle, r *tokenizer.Runtime) error {
	if !strings.EqualFold(filepath.Ext(o.output), ".png") {
		return usage.Errorf("%s: a picture is decoded to a .png", o.output)
	}
	grid, err := files(b).Read(o.input)
	if err != nil {
		return err
	}
	p, err := picture.Encoder{Runtime: r}.Decode(ctx, grid)
	if err != nil {
		return err
	}
	if err := draw.WritePNG(o.output, p); err != nil {
		return err
	}
	if o.json {
		return s.WriteJSON(map[string]any{"output": o.output, "width": p.Width, "height": p.Height})
	}
	_, err = fmt.Fprintf(s.Out, "%s: %d x %d pixels\n", o.output, p.Width, p.Height)
	return err
}
