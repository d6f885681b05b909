package rate

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
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
)

type coder struct {
	name, setting string
	run           func(p *images.RGB) (size int, back *images.RGB, err error)
}

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
			run := func(p *images.RGB) (int, *images.RGB, error) { return viaFile(ctx, encoder, files, p) }
			coders = append(coders, coder{ownCoder, setting, run})
		}
	}
	return coders, nil
}

func viaFile(ctx context.Context, encoder picture.Encoder, files picture.Files, p *images.RGB) (int, *images.RGB, error) {
	grid, err := encoder.Encode(ctx, p)
	if err != nil {
		return 0, nil, err
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("gritvq-rate-%d.gvq", os.Getpid()))
	defer os.Remove(path)
	if _, err := files.Write(ctx, path, grid); err != nil {
		return 0, nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, nil, err
	}
	read, err := files.Read(ctx, path)
	if err != nil {
		return 0, nil, err
	}
	back, err := encoder.Decode(ctx, read)
	return int(info.Size()), back, err
}

func fileCoders(ctx context.Context, watch task.Watcher) []coder {
	var coders []coder
	jpegs := []int{1, 3, 5, 8, 12, 20, 30, 45, 60, 75, 90}
	for _, c := range []struct {
		program, name string
		qualities     []int
		run           func(ctx context.Context, p *images.RGB, quality int) (int, *images.RGB, error)
	}{
		{"", "JPEG", jpegs, jpegCoder},
		{"cjpeg", "JPEG, optimised", jpegs, optimisedJPEGCoder},
		{"cwebp", "WebP", []int{0, 5, 10, 20, 35, 50, 70, 85}, webpCoder},
	} {
		if _, err := exec.LookPath(c.program); c.program != "" && err != nil {
			watch.Remark("%s is left out: %s is not installed (make bench-peers)", c.name, c.program)
			continue
		}
		for _, quality := range c.qualities {
			coders = append(coders, coder{c.name, fmt.Sprintf("quality %d", quality),
				func(p *images.RGB) (int, *images.RGB, error) { return c.run(ctx, p, quality) }})
		}
	}
	return coders
}

func jpegCoder(_ context.Context, p *images.RGB, quality int) (int, *images.RGB, error) {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, p, &jpeg.Options{Quality: quality}); err != nil {
		return 0, nil, err
	}
	size := file.Len()
	back, err := jpeg.Decode(&file)
	return size, asRGB(back), err
}

// optimisedJPEGCoder writes progressive JPEG with Huffman tables of its own.
func optimisedJPEGCoder(ctx context.Context, p *images.RGB, quality int) (int, *images.RGB, error) {
	plain := append(fmt.Appendf(nil, "P6 %d %d 255\n", p.Width, p.Height), p.Pix...)
	content, err := pipe(ctx, plain, "cjpeg", "-quality", strconv.Itoa(quality), "-optimize", "-progressive")
	if err != nil {
		return 0, nil, err
	}
	back, err := jpeg.Decode(bytes.NewReader(content))
	return len(content), asRGB(back), err
}

// webpCoder runs cwebp at its slowest and best setting.
func webpCoder(ctx context.Context, p *images.RGB, quality int) (int, *images.RGB, error) {
	var file bytes.Buffer
	if err := png.Encode(&file, p); err != nil {
		return 0, nil, err
	}
	content, err := pipe(ctx, file.Bytes(), "cwebp", "-quiet", "-m", "6", "-q", strconv.Itoa(quality), "-o", "-", "--", "-")
	if err != nil {
		return 0, nil, err
	}
	// Its own decoder: x/image's reads video-range colours as full-range ones.
	restored, err := pipe(ctx, content, "dwebp", "-quiet", "-o", "-", "--", "-")
	if err != nil {
		return 0, nil, err
	}
	back, err := png.Decode(bytes.NewReader(restored))
	return len(content), asRGB(back), err
}

func pipe(ctx context.Context, input []byte, program string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Stdin = bytes.NewReader(input)
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", program, err)
	}
	return output, nil
}

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
