package rate

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/atomicfile"
)

// TestNeed asks at known points of a curve, between them and beyond them.
func TestNeed(t *testing.T) {
	curve := []Point{{BitsPerPixel: 0.4, PSNR: 30, LPIPS: 0.1}, {BitsPerPixel: 0.1, PSNR: 20, LPIPS: 0.3},
		{BitsPerPixel: 1.6, PSNR: 32, LPIPS: 0.1}}
	for _, c := range []struct {
		name    string
		measure measure
		point   Point
		bits    float64
		outside int
	}{
		{"at a point", measures[0], Point{PSNR: 30}, 0.4, 0},
		{"half way, in logarithms", measures[0], Point{PSNR: 25}, 0.2, 0},
		{"at the first", measures[0], Point{PSNR: 20}, 0.1, 0},
		{"at the last", measures[0], Point{PSNR: 32}, 1.6, 0},
		{"worse than all", measures[0], Point{PSNR: 19}, 0.1, -1},
		{"better than all", measures[0], Point{PSNR: 33}, 1.6, 1},
		{"lower is better", measures[2], Point{LPIPS: 0.2}, 0.2, 0},
		{"where more bits do not help", measures[2], Point{LPIPS: 0.1}, 0.4, 0},
		{"lower than all", measures[2], Point{LPIPS: 0.05}, 1.6, 1},
	} {
		bits, outside := c.measure.need(curve, c.point)
		if math.Abs(bits-c.bits) > 1e-12 || outside != c.outside {
			t.Errorf("%s: %g bits, outside %d; want %g and %d", c.name, bits, outside, c.bits, c.outside)
		}
	}
}

// TestFront leaves out points with more bits that are no better.
func TestFront(t *testing.T) {
	points := []Point{{Setting: "c", BitsPerPixel: 0.3, LPIPS: 0.2}, {Setting: "a", BitsPerPixel: 0.1, LPIPS: 0.4},
		{Setting: "worse", BitsPerPixel: 0.2, LPIPS: 0.4}, {Setting: "as many bits", BitsPerPixel: 0.3, LPIPS: 0.3}}
	var got string
	for _, p := range measures[2].front(points) {
		got += p.Setting
	}
	if got != "ac" {
		t.Errorf("the front is %q, want a and c", got)
	}
}

// TestPieces cuts a picture that is a little larger than two squares.
func TestPieces(t *testing.T) {
	p := images.NewRGB(2*pieceSide+1, pieceSide+5)
	for y := range p.Height {
		for x := range p.Width {
			at := 3 * (y*p.Width + x)
			p.Pix[at], p.Pix[at+1], p.Pix[at+2] = uint8(x/pieceSide), uint8(x%pieceSide), uint8(y)
		}
	}
	got := pieces(p)
	if len(got) != 2*3*pieceSide*pieceSide {
		t.Fatalf("%d samples, want those of two squares", len(got))
	}
	for i := 0; i < len(got); i += 3 {
		at := i / 3 % (pieceSide * pieceSide)
		if want := [3]uint8{uint8(i / 3 / (pieceSide * pieceSide)), uint8(at % pieceSide), uint8(at / pieceSide)}; [3]uint8(got[i:i+3]) != want {
			t.Fatalf("pixel %d is %v, want %v", i/3, got[i:i+3], want)
		}
	}
	if small := pieces(images.NewRGB(pieceSide, pieceSide-1)); len(small) != 0 {
		t.Errorf("a picture that is too small has %d samples", len(small))
	}
}

// TestPage writes the page of a few points: the fewest bits are in bold, and
// the text above stays.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	points := []Point{
		{Coder: ownCoder, Setting: "a", BitsPerPixel: 0.1, PSNR: 22, SSIM: 0.6, LPIPS: 0.3, Pictures: 2},
		{Coder: "JPEG", Setting: "quality 1", BitsPerPixel: 0.2, PSNR: 20, SSIM: 0.5, LPIPS: 0.5, Pictures: 2},
		{Coder: "JPEG", Setting: "quality 9", BitsPerPixel: 0.8, PSNR: 30, SSIM: 0.9, LPIPS: 0.1, Pictures: 2},
		{Coder: "WebP", Setting: "quality 0", BitsPerPixel: 0.05, PSNR: 23, SSIM: 0.55, LPIPS: 0.4, Pictures: 2},
	}
	if err := atomicfile.WriteJSON(filepath.Join(dir, Name+".jsonl"), "", points...); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Name+".md")
	for _, head := range []string{"# Rate and distortion\n\n", "# Kodak\n\nWritten by hand.\n\n"} {
		if before, err := os.ReadFile(path); err == nil {
			changed := strings.Replace(string(before), "# Rate and distortion\n\n", head, 1)
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := Write(dir); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{head, "| a | 22.00 | 0.100 | 0.264 | **smallest, 0.050** |",
			"| a | 0.600 | **0.100** | 0.283 | over 0.050 |", "| a | 0.300 | **0.100** |",
			"![LPIPS against bits a pixel](rate-distortion-lpips.svg)", "| WebP | quality 0 | 0.050 | 23.00 | 0.550 | 0.400 |"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the page lacks %q:\n%s", want, page)
			}
		}
		for _, figure := range []string{"psnr", "ssim", "lpips"} {
			if _, err := os.Stat(filepath.Join(dir, Name+"-"+figure+".svg")); err != nil {
				t.Error(err)
			}
		}
	}
}
