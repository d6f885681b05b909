package eval

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// hashed is testdata/fixtures.py's noise.
func hashed(i uint32) uint32 {
	i = (i>>16 ^ i) * 0x45d9f3b
	i = (i>>16 ^ i) * 0x45d9f3b
	return i>>16 ^ i
}

// wave is a triangle between 0 and 255 with period 510.
func wave(t int) int {
	t %= 510
	return min(t, 510-t)
}

// imagePair rebuilds pair p of testdata/fixtures.py.
func imagePair(p int) (a, b []uint8, shape ImageShape) {
	shape = ImageShape{Height: 11 + 3*(p%7), Width: 11 + 5*(p%5), Channels: 3}
	for y := range shape.Height {
		for x := range shape.Width {
			for c := range 3 {
				value := wave((3+p)*x + (7+c)*y + x*y*(p%3) + 60*c)
				random := hashed(uint32(((p*64+y)*64+x)*3 + c))
				var other int
				switch p % 4 {
				case 0:
					other = value + int(random%uint32(2*p+3)) - (p + 1)
				case 1:
					other = value + 9*c - 4*p
				case 2:
					other = wave((3+p)*(x+1) + (7+c)*y + x*y*(p%3) + 60*c)
				default:
					other = int(random % 256)
				}
				a, b = append(a, uint8(value)), append(b, uint8(min(255, max(0, other))))
			}
		}
	}
	return a, b, shape
}

func readFixture(t *testing.T, name string, into any) {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}

// Twenty pairs scored by scikit-image 0.19.3.
func TestImageScoresEqualScikitImage(t *testing.T) {
	var want []struct{ PSNR, SSIM float64 }
	readFixture(t, "image_pairs.json", &want)
	if len(want) != 20 {
		t.Fatalf("%d pairs in the fixture", len(want))
	}
	for p, pair := range want {
		a, b, shape := imagePair(p)
		psnr, err := PSNR(a, b)
		if err != nil {
			t.Fatal(err)
		}
		ssim, err := SSIM(a, b, shape)
		if err != nil {
			t.Fatal(err)
		}
		near(t, fmt.Sprintf("PSNR of pair %d", p), psnr, pair.PSNR, 1e-6)
		near(t, fmt.Sprintf("SSIM of pair %d", p), ssim, pair.SSIM, 1e-6)
	}
}

func TestImageScoresAreMeansOverImages(t *testing.T) {
	var all ImageScores
	var psnr, ssim float64
	shape := ImageShape{Height: 11, Width: 11, Channels: 3}
	a, b, _ := imagePair(0)
	for k := range 3 {
		worse := make([]uint8, len(b))
		for i := range b {
			worse[i] = uint8(min(255, int(b[i])+5*k*(i%3)))
		}
		one, _ := PSNR(a, worse)
		two, _ := SSIM(a, worse, shape)
		psnr, ssim = psnr+one/4, ssim+two/4
		if err := all.Add(a, worse, shape); err != nil {
			t.Fatal(err)
		}
	}
	// An exact picture raises both scores.
	if err := all.Add(a, a, shape); err != nil {
		t.Fatal(err)
	}
	near(t, "PSNR", all.PSNR(), psnr+20*math.Log10(255/0.5)/4, 1e-9)
	near(t, "SSIM", all.SSIM(), ssim+0.25, 1e-9)
	if all.images != 4 {
		t.Errorf("%d pictures", all.images)
	}
}

func TestImageScoresEdges(t *testing.T) {
	var scores ImageScores
	if !math.IsNaN(scores.PSNR()) || !math.IsNaN(scores.SSIM()) {
		t.Error("scores without pictures are numbers")
	}
	shape := ImageShape{Height: 12, Width: 11, Channels: 1}
	grey := make([]uint8, 2*shape.Len())
	if err := scores.Add(grey, grey, shape); err != nil {
		t.Fatal(err)
	}
	if math.Abs(scores.PSNR()-54.15) > 0.005 || scores.SSIM() != 1 {
		t.Errorf("exact pictures: PSNR %v, SSIM %v", scores.PSNR(), scores.SSIM())
	}
	fails(t, scores.Add(grey[1:], grey[1:], shape), "not whole pictures")
	fails(t, scores.Add(grey, grey[:shape.Len()], shape), "reconstruction of 132")
	fails(t, scores.Add(grey, grey, ImageShape{10, 11, 1}), "at least 11 x 11")
	_, err := PSNR([]uint8{1}, []uint8{1, 2})
	fails(t, err, "same size")
	_, err = SSIM(grey, grey, shape)
	fails(t, err, "are not 12 x 11 x 1")
	if scores.images != 2 {
		t.Errorf("failed batches were counted: %d", scores.images)
	}
}

// Flat pictures have a closed form: no structure, only the two means.
func TestSSIMOfFlatPictures(t *testing.T) {
	shape := ImageShape{Height: 13, Width: 17, Channels: 3}
	a, b := make([]uint8, shape.Len()), make([]uint8, shape.Len())
	for i := range a {
		a[i], b[i] = 51, 153
	}
	got, err := SSIM(a, b, shape)
	if err != nil {
		t.Fatal(err)
	}
	const c1 = 0.01 * 0.01
	near(t, "flat", got, (2*0.2*0.6+c1)/(0.2*0.2+0.6*0.6+c1), 1e-9)
}

func BenchmarkSSIM256(b *testing.B) {
	shape := ImageShape{Height: 256, Width: 256, Channels: 3}
	x, y := make([]uint8, shape.Len()), make([]uint8, shape.Len())
	for i := range x {
		x[i], y[i] = uint8(hashed(uint32(i))), uint8(hashed(uint32(i+1)))
	}
	for b.Loop() {
		if _, err := SSIM(x, y, shape); err != nil {
			b.Fatal(err)
		}
	}
}

// A picture that is nearly exact never scores above an exact one, and better ones are not worse.
func TestPSNROfNearlyExactPictures(t *testing.T) {
	const samples = 4800
	original := make([]uint8, samples)
	last := math.Inf(1)
	for _, wrong := range []int{0, 1, samples / 4, samples / 2, samples} { // by one step each
		near := make([]uint8, samples)
		for i := range wrong {
			near[i] = 1
		}
		got, err := PSNR(original, near)
		if err != nil || got > last {
			t.Errorf("%d wrong samples score %g, fewer scored %g, %v", wrong, got, last, err)
		}
		if want := 10 * math.Log10(255*255/max(0.25, float64(wrong)/samples)); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d wrong samples score %g, want %g", wrong, got, want)
		}
		last = got
	}
}
