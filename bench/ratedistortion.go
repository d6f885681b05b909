package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/gomlx/compute"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/feature"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

// coder turns a picture into bytes and back.
type coder struct {
	name, setting string
	run           func(p *images.RGB) (size int, back *images.RGB, err error)
}

// rateDistortion measures tokenizers' picture files on the pictures of a folder
// beside JPEG (the standard library's encoder and, if it is installed, Debian's
// cjpeg) and WebP (cwebp, if it is installed), and writes the page about it to
// out. LPIPS is measured if metrics, a folder of networks, is given.
func rateDistortion(ctx context.Context, folder string, bundles []string, backendName, metrics, out string) error {
	page, err := openRatePage(out)
	if err != nil {
		return err
	}
	set, err := images.Open(ctx, folder, images.Options{})
	if err != nil {
		return err
	}
	defer set.Close()
	backend, err := engine.Open(backendName)
	if err != nil {
		return err
	}
	coders, err := tokenizerCoders(ctx, bundles, backend)
	if err != nil {
		return err
	}
	coders = append(coders, fileCoders(ctx)...)
	meter := &rateMeter{}
	if metrics != "" {
		network, err := feature.LoadLPIPS(filepath.Join(metrics, "lpips_squeeze_v0.1.safetensors"))
		if err != nil {
			return err
		}
		if meter.lpips, err = feature.NewLPIPSRunner(backend, network); err != nil {
			return err
		}
		defer meter.lpips.Close()
	} else {
		fmt.Fprintln(os.Stderr, "LPIPS is left out: say -metrics DIR, the folder of its network")
	}
	var points []ratePoint
	for _, c := range coders {
		point, err := meter.measure(ctx, c, set)
		if err != nil {
			return err
		}
		points = append(points, point)
		fmt.Fprintf(os.Stderr, "%s %s: %.3f bits a pixel, %.2f dB, SSIM %.3f, LPIPS %.3f\n", c.name, c.setting, point.BitsPerPixel, point.PSNR, point.SSIM, point.LPIPS)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if err := storeLines(page.path(".jsonl"), points); err != nil {
		return err
	}
	return writeRatePage(page, points)
}

// rateMeter compares pictures with what a coder made of them.
type rateMeter struct {
	lpips *feature.LPIPSRunner // nil leaves LPIPS out
}

// measure returns a coder's means over all pictures, of LPIPS over all pieces.
func (m *rateMeter) measure(ctx context.Context, c coder, set *images.Set) (ratePoint, error) {
	point := ratePoint{Coder: c.name, Setting: c.setting, Pictures: set.Len()}
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
		if m.lpips != nil {
			before, after = append(before, pieces(p)...), append(after, pieces(back)...)
		}
	}
	if m.lpips == nil {
		return point, nil
	}
	distances, err := m.lpips.Distances(ctx, before, after, len(before)/(3*pieceSide*pieceSide), pieceSide)
	if err != nil {
		return point, err
	}
	for _, d := range distances {
		point.LPIPS += d / float64(len(distances))
	}
	return point, nil
}

// pieceSide is that of the squares that LPIPS compares.
const pieceSide = 256

// pieces are the squares that a picture is cut into, whole ones only, one after
// the other.
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

// fileCoders are the usual formats at many qualities.
func fileCoders(ctx context.Context) []coder {
	var coders []coder
	add := func(name string, qualities []int, run func(p *images.RGB, quality int) (int, *images.RGB, error)) {
		for _, quality := range qualities {
			coders = append(coders, coder{name, fmt.Sprintf("quality %d", quality), func(p *images.RGB) (int, *images.RGB, error) { return run(p, quality) }})
		}
	}
	jpegs := []int{1, 3, 5, 8, 12, 20, 30, 45, 60, 75, 90}
	add("JPEG", jpegs, jpegCoder)
	for _, c := range []struct {
		program, name string
		qualities     []int
		run           func(ctx context.Context, p *images.RGB, quality int) (int, *images.RGB, error)
	}{
		{"cjpeg", "JPEG, optimised", jpegs, optimisedJPEGCoder},
		{"cwebp", "WebP", []int{0, 5, 10, 20, 35, 50, 70, 85}, webpCoder},
	} {
		if _, err := exec.LookPath(c.program); err != nil {
			fmt.Fprintf(os.Stderr, "%s is left out: %s is not installed (make bench-peers)\n", c.name, c.program)
			continue
		}
		add(c.name, c.qualities, func(p *images.RGB, quality int) (int, *images.RGB, error) { return c.run(ctx, p, quality) })
	}
	return coders
}

// tokenizerCoders are trained tokenizers, each with its first levels and all.
func tokenizerCoders(ctx context.Context, bundles []string, backend compute.Backend) ([]coder, error) {
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
		files := picture.Files{Tokenizer: b.Tokenizer, Fingerprint: b.Manifest.Fingerprint(), Entropy: b.Entropy}
		for levels := 1; levels <= b.Manifest.Layout.Levels; levels++ {
			encoder := picture.Encoder{Runtime: r, Options: tokenizer.Options{Levels: levels}}
			setting := filepath.Base(dir)
			if b.Manifest.Layout.Levels > 1 {
				setting += fmt.Sprintf(", %d of %d levels", levels, b.Manifest.Layout.Levels)
			}
			coders = append(coders, coder{ownCoder, setting, func(p *images.RGB) (int, *images.RGB, error) {
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

// optimisedJPEGCoder runs Debian's cjpeg, progressive and with Huffman tables of
// the picture's own.
func optimisedJPEGCoder(ctx context.Context, p *images.RGB, quality int) (int, *images.RGB, error) {
	var plain bytes.Buffer
	fmt.Fprintf(&plain, "P6 %d %d 255\n", p.Width, p.Height)
	plain.Write(p.Pix)
	content, err := pipe(ctx, plain.Bytes(), "cjpeg", "-quality", strconv.Itoa(quality), "-optimize", "-progressive")
	if err != nil {
		return 0, nil, err
	}
	back, err := jpeg.Decode(bytes.NewReader(content))
	return len(content), asRGB(back), err
}

// webpCoder runs Debian's cwebp at its slowest and best setting.
func webpCoder(ctx context.Context, p *images.RGB, quality int) (int, *images.RGB, error) {
	var file bytes.Buffer
	if err := png.Encode(&file, p); err != nil {
		return 0, nil, err
	}
	content, err := pipe(ctx, file.Bytes(), "cwebp", "-quiet", "-m", "6", "-q", strconv.Itoa(quality), "-o", "-", "--", "-")
	if err != nil {
		return 0, nil, err
	}
	// Its own decoder: x/image's reads the video-range colours as full-range ones.
	restored, err := pipe(ctx, content, "dwebp", "-quiet", "-o", "-", "--", "-")
	if err != nil {
		return 0, nil, err
	}
	back, err := png.Decode(bytes.NewReader(restored))
	return len(content), asRGB(back), err
}

// pipe returns what a program makes of its input.
func pipe(ctx context.Context, input []byte, program string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stdin = bytes.NewReader(input)
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return output, nil
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
