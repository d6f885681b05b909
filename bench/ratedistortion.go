package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/bundle"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/images"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task/recon"
	"github.com/gritvq/gritvq/tokenizer"
)

// ratePoint is a coder at one setting: means over the pictures.
type ratePoint struct {
	Coder        string  `json:"coder"`
	Setting      string  `json:"setting"`
	BitsPerPixel float64 `json:"bits_per_pixel"`
	PSNR         float64 `json:"psnr"`
	SSIM         float64 `json:"ssim"`
	Pictures     int     `json:"pictures"`
}

// coder turns a picture into bytes and back.
type coder struct {
	name, setting string
	run           func(p *images.RGB) (size int, back *images.RGB, err error)
}

// rateDistortion measures tokenizers' picture files beside JPEG (the standard
// library's encoder, 4:2:0) and WebP (cwebp, if it is installed) on the pictures
// of a folder, and writes rate-distortion.json and .svg to out.
func rateDistortion(ctx context.Context, folder string, bundles []string, backendName, out string) error {
	set, err := images.Open(ctx, folder, images.Options{})
	if err != nil {
		return err
	}
	defer set.Close()
	coders, err := tokenizerCoders(ctx, bundles, backendName)
	if err != nil {
		return err
	}
	for _, quality := range []int{1, 3, 5, 8, 12, 20, 30, 45, 60, 75, 90} {
		coders = append(coders, coder{"JPEG", fmt.Sprintf("quality %d", quality), func(p *images.RGB) (int, *images.RGB, error) { return jpegCoder(p, quality) }})
	}
	if _, err := exec.LookPath("cwebp"); err == nil {
		for _, quality := range []int{0, 5, 10, 20, 35, 50, 70, 85} {
			coders = append(coders, coder{"WebP", fmt.Sprintf("quality %d", quality), func(p *images.RGB) (int, *images.RGB, error) { return webpCoder(ctx, p, quality) }})
		}
	} else {
		fmt.Fprintln(os.Stderr, "WebP is left out: cwebp is not installed (make bench-peers)")
	}
	var points []ratePoint
	for _, c := range coders {
		point := ratePoint{Coder: c.name, Setting: c.setting}
		for i := range set.Len() {
			p, err := set.Whole(i)
			if err != nil {
				return err
			}
			size, back, err := c.run(p)
			if err != nil {
				return fmt.Errorf("%s %s on %s: %w", c.name, c.setting, set.Key(i), err)
			}
			psnr, err := eval.PSNR(p.Pix, back.Pix)
			if err != nil {
				return err
			}
			ssim, err := eval.SSIM(p.Pix, back.Pix, eval.ImageShape{Height: p.Height, Width: p.Width, Channels: 3})
			if err != nil {
				return err
			}
			point.BitsPerPixel += 8 * float64(size) / float64(p.Width*p.Height)
			point.PSNR, point.SSIM = point.PSNR+psnr, point.SSIM+ssim
			point.Pictures++
		}
		n := float64(point.Pictures)
		point.BitsPerPixel, point.PSNR, point.SSIM = point.BitsPerPixel/n, point.PSNR/n, point.SSIM/n
		points = append(points, point)
		fmt.Fprintf(os.Stderr, "%s %s: %.3f bits a pixel, %.2f dB, SSIM %.3f\n", c.name, c.setting, point.BitsPerPixel, point.PSNR, point.SSIM)
	}
	return writeRates(out, points)
}

func tokenizerCoders(ctx context.Context, bundles []string, backendName string) ([]coder, error) {
	backend, err := compute.NewWithConfig(backendName)
	if err != nil {
		return nil, err
	}
	var coders []coder
	for _, dir := range bundles {
		b, err := bundle.Load(dir)
		if err != nil {
			return nil, err
		}
		r, err := b.Runtime(backend)
		if err != nil {
			return nil, err
		}
		files := recon.Files{Tokenizer: b.Tokenizer, Fingerprint: b.Manifest.Fingerprint(), Entropy: b.Entropy}
		for levels := 1; levels <= b.Manifest.Layout.Levels; levels++ {
			encoder := recon.Encoder{Runtime: r, Options: tokenizer.Options{Levels: levels}}
			setting := filepath.Base(dir)
			if b.Manifest.Layout.Levels > 1 {
				setting += fmt.Sprintf(", %d levels", levels)
			}
			coders = append(coders, coder{"gritvq", setting, func(p *images.RGB) (int, *images.RGB, error) {
				grid, err := encoder.Encode(ctx, p)
				if err != nil {
					return 0, nil, err
				}
				path := filepath.Join(os.TempDir(), fmt.Sprintf("gritvq-rate-%d.gvq", os.Getpid()))
				defer os.Remove(path)
				if _, err := files.Write(path, grid); err != nil {
					return 0, nil, err
				}
				info, err := os.Stat(path)
				if err != nil {
					return 0, nil, err
				}
				read, err := files.Read(path)
				if err != nil {
					return 0, nil, err
				}
				back, err := encoder.Decode(ctx, read)
				return int(info.Size()), back, err
			}})
		}
	}
	return coders, nil
}

func jpegCoder(p *images.RGB, quality int) (int, *images.RGB, error) {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, p, &jpeg.Options{Quality: quality}); err != nil {
		return 0, nil, err
	}
	size := file.Len()
	back, err := jpeg.Decode(&file)
	return size, asRGB(back), err
}

// webpCoder runs Debian's cwebp at its slowest and best setting.
func webpCoder(ctx context.Context, p *images.RGB, quality int) (int, *images.RGB, error) {
	var file bytes.Buffer
	if err := png.Encode(&file, p); err != nil {
		return 0, nil, err
	}
	command := exec.CommandContext(ctx, "cwebp", "-quiet", "-m", "6", "-q", strconv.Itoa(quality), "-o", "-", "--", "-")
	command.Stdin = &file
	content, err := command.Output()
	if err != nil {
		return 0, nil, fmt.Errorf("cwebp: %w", err)
	}
	// Its own decoder: x/image's reads the video-range colours as full-range ones.
	command = exec.CommandContext(ctx, "dwebp", "-quiet", "-o", "-", "--", "-")
	command.Stdin = bytes.NewReader(content)
	restored, err := command.Output()
	if err != nil {
		return 0, nil, fmt.Errorf("dwebp: %w", err)
	}
	back, err := png.Decode(bytes.NewReader(restored))
	return len(content), asRGB(back), err
}

// asRGB copies a decoded picture.
func asRGB(m image.Image) *images.RGB {
	if m == nil {
		return nil
	}
	b := m.Bounds()
	out := images.NewRGB(b.Dx(), b.Dy())
	for y := range b.Dy() {
		for x := range b.Dx() {
			r, g, bl, _ := m.At(b.Min.X+x, b.Min.Y+y).RGBA()
			at := 3 * (y*b.Dx() + x)
			out.Pix[at], out.Pix[at+1], out.Pix[at+2] = uint8(r>>8), uint8(g>>8), uint8(bl>>8)
		}
	}
	return out
}

// writeRates stores the points and draws both curves.
func writeRates(out string, points []ratePoint) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	content, err := json.MarshalIndent(points, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "rate-distortion.json"), append(content, '\n'), 0o644); err != nil {
		return err
	}
	page := report.New("Rate and distortion", "Means over the pictures")
	for _, measure := range []struct {
		name string
		of   func(ratePoint) float64
	}{{"PSNR (dB)", func(p ratePoint) float64 { return p.PSNR }}, {"SSIM", func(p ratePoint) float64 { return p.SSIM }}} {
		chart := report.LineChart{Title: measure.name, Caption: "Further up and to the left is better.", XLabel: "bits per pixel", YLabel: measure.name, LogX: true}
		for _, p := range points {
			at := -1
			for i, s := range chart.Series {
				if s.Name == p.Coder {
					at = i
				}
			}
			if at < 0 {
				chart.Series = append(chart.Series, report.Series{Name: p.Coder})
				at = len(chart.Series) - 1
			}
			if !math.IsNaN(measure.of(p)) {
				chart.Series[at].X, chart.Series[at].Y = append(chart.Series[at].X, p.BitsPerPixel), append(chart.Series[at].Y, measure.of(p))
			}
		}
		page.Section(measure.name, "", chart)
	}
	return page.WriteFile(filepath.Join(out, "rate-distortion.html"))
}
