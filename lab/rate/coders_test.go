package rate

import (
	"context"
	"errors"
	"image"
	"image/color"
	"math"
	"os/exec"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/task"
)

// gradient is a picture that files compress well.
func gradient(width, height int) *images.RGB {
	p := images.NewRGB(width, height)
	for i := range p.Pix {
		p.Pix[i] = uint8(i / 3 % width * 4)
	}
	return p
}

// A better quality takes more bytes and is closer to the original.
func TestFileCoders(t *testing.T) {
	p := gradient(48, 32)
	distance := func(q *images.RGB) float64 {
		sum := 0.0
		for i, v := range p.Pix {
			sum += math.Abs(float64(v) - float64(q.Pix[i]))
		}
		return sum
	}
	for program, run := range map[string]func(context.Context, *images.RGB, int) (int, *images.RGB, error){
		"": jpegCoder, "cjpeg": optimisedJPEGCoder, "cwebp": webpCoder,
	} {
		if _, err := exec.LookPath(program); program != "" && err != nil {
			if _, _, err := run(t.Context(), p, 50); err == nil || !strings.HasPrefix(err.Error(), program+": ") {
				t.Errorf("%s is not installed: %v", program, err)
			}
			continue
		}
		small, poor, err := run(t.Context(), p, 5)
		if err != nil {
			t.Fatal(err)
		}
		large, good, err := run(t.Context(), p, 90)
		if err != nil {
			t.Fatal(err)
		}
		if small >= large || poor.Width != p.Width || poor.Height != p.Height || distance(good) >= distance(poor) {
			t.Errorf("%s: %d and %d bytes, distances %g and %g", program, small, large, distance(poor), distance(good))
		}
	}
}

func TestCodersOfEveryQuality(t *testing.T) {
	list := fileCoders(t.Context(), task.Silent{})
	if len(list) < 11 || list[0].name != "JPEG" || list[0].setting != "quality 1" || list[10].setting != "quality 90" {
		t.Fatalf("%d coders: %+v", len(list), list)
	}
	size, back, err := list[10].run(gradient(16, 16))
	if err != nil || size == 0 || back.Width != 16 {
		t.Errorf("%d bytes, %v, %v", size, back, err)
	}
}

func TestAsRGBKeepsTheOffset(t *testing.T) {
	m := image.NewNRGBA(image.Rect(2, 3, 4, 4))
	m.Set(2, 3, color.NRGBA{1, 2, 3, 255})
	m.Set(3, 3, color.NRGBA{4, 5, 6, 255})
	if p := asRGB(m); p.Width != 2 || p.Height != 1 || string(p.Pix) != "\x01\x02\x03\x04\x05\x06" {
		t.Errorf("%+v", p)
	}
	if asRGB(nil) != nil {
		t.Error("no picture became one")
	}
}

// Bits a pixel are bytes over the pixels of each picture, and scores are means over pictures.
func TestMeasure(t *testing.T) {
	set, err := images.Open(t.Context(), "synthetic:scenes?images=3&size=32", images.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	changed := coder{"x", "y", func(p *images.RGB) (int, *images.RGB, error) {
		q := images.NewRGB(p.Width, p.Height)
		for i, v := range p.Pix {
			q.Pix[i] = v ^ 1 // an error of 1 in every sample: 48.13 dB
		}
		return p.Width * p.Height / 4, q, nil
	}}
	p, err := changed.measure(t.Context(), set, nil)
	if err != nil || p.Pictures != 3 || math.Abs(p.BitsPerPixel-2) > 1e-12 || math.Abs(p.PSNR-20*math.Log10(255)) > 1e-9 || p.SSIM <= 0.5 {
		t.Errorf("%+v, %v", p, err)
	}
	failing := coder{"x", "y", func(*images.RGB) (int, *images.RGB, error) { return 0, nil, errors.New("no") }}
	if _, err := failing.measure(t.Context(), set, nil); err == nil || !strings.HasPrefix(err.Error(), "x y on ") {
		t.Errorf("a coder that fails: %v", err)
	}
}
