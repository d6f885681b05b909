// Package rate measures rate and distortion of picture files: trained tokenizers beside JPEG and WebP.
package rate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/task"
)

// Options name the data and the tokenizers.
type Options struct {
	Pictures   string   // a folder
	Tokenizers []string // directories
	Backend    string
	Metrics    string // directory of the LPIPS network; empty: LPIPS is left out
	Output     string // directory of the page
}

// Run measures the files of all coders and writes the page about them.
func Run(ctx context.Context, o Options, watch task.Watcher) error {
	page, err := openPage(o.Output)
	if err != nil {
		return err
	}
	set, err := images.Open(ctx, o.Pictures, images.Options{})
	if err != nil {
		return err
	}
	defer set.Close()
	backend, err := engine.Open(o.Backend)
	if err != nil {
		return err
	}
	coders, err := tokenizerCoders(ctx, o.Tokenizers, backend)
	if err != nil {
		return err
	}
	var lpips *feature.LPIPSRunner
	if o.Metrics != "" {
		network, err := feature.LoadLPIPS(filepath.Join(o.Metrics, "lpips_squeeze_v0.1.safetensors"))
		if err != nil {
			return err
		}
		if lpips, err = feature.NewLPIPSRunner(backend, network); err != nil {
			return err
		}
		defer lpips.Close()
	} else {
		watch.Remark("LPIPS is left out: name the directory of its network with -metrics")
	}
	var points []Point
	for _, c := range append(coders, fileCoders(ctx, watch)...) {
		p, err := c.measure(ctx, set, lpips)
		if err != nil {
			return err
		}
		points = append(points, p)
		watch.Remark("%s %s: %.3f bits a pixel, %.2f dB, SSIM %.3f, LPIPS %.3f", c.name, c.setting, p.BitsPerPixel, p.PSNR, p.SSIM, p.LPIPS)
	}
	if err := os.MkdirAll(o.Output, 0o755); err != nil {
		return err
	}
	if err := atomicfile.WriteJSON(page.Path(".jsonl"), "", points...); err != nil {
		return err
	}
	return write(page, points)
}

// measure returns the means over all pictures, of LPIPS over all their pieces.
func (c coder) measure(ctx context.Context, set *images.Set, lpips *feature.LPIPSRunner) (Point, error) {
	point := Point{Coder: c.name, Setting: c.setting, Pictures: set.Len()}
	n := float64(set.Len())
	var before, after []uint8 // all pieces
	for i := range set.Len() {
		p, err := set.Whole(i)
		if err != nil {
			return point, err
		}
		size, back, err := c.run(p)
		if err != nil {
			return point, fmt.Errorf("%s %s on %s: %w", c.name, c.setting, set.Key(i), err)
		}
		psnr, err := eval.PSNR(p.Pix, back.Pix)
		if err != nil {
			return point, err
		}
		ssim, err := eval.SSIM(p.Pix, back.Pix, eval.ImageShape{Height: p.Height, Width: p.Width, Channels: 3})
		if err != nil {
			return point, err
		}
		point.BitsPerPixel += 8 * float64(size) / float64(p.Width*p.Height) / n
		point.PSNR, point.SSIM = point.PSNR+psnr/n, point.SSIM+ssim/n
		if lpips != nil {
			before, after = append(before, pieces(p)...), append(after, pieces(back)...)
		}
	}
	if lpips == nil {
		return point, nil
	}
	distances, err := lpips.Distances(ctx, before, after, len(before)/(3*pieceSide*pieceSide), pieceSide)
	if err != nil {
		return point, err
	}
	for _, d := range distances {
		point.LPIPS += d / float64(len(distances))
	}
	return point, nil
}

// pieceSide is the side of the squares that LPIPS compares.
const pieceSide = 256

func pieces(p *images.RGB) []uint8 {
	var all []uint8
	for top := 0; top+pieceSide <= p.Height; top += pieceSide {
		for left := 0; left+pieceSide <= p.Width; left += pieceSide {
			for y := top; y < top+pieceSide; y++ {
				all = append(all, p.Pix[3*(y*p.Width+left):][:3*pieceSide]...)
			}
		}
	}
	return all
}
