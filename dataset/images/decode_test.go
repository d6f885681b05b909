package images

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/image/bmp"
)

func mustDecode(t *testing.T, encoded []byte) *RGB {
	t.Helper()
	p, err := decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// difference returns the largest and the mean difference of two pictures.
func difference(t *testing.T, a, b *RGB) (most int, mean float64) {
	t.Helper()
	if a.Width != b.Width || a.Height != b.Height {
		t.Fatalf("%d x %d pixels, want %d x %d", a.Width, a.Height, b.Width, b.Height)
	}
	for i, v := range a.Pix {
		d := int(v) - int(b.Pix[i])
		most = max(most, d, -d)
		mean += float64(max(d, -d)) / float64(len(a.Pix))
	}
	return most, mean
}

func TestDecodesWhatPillowDecodes(t *testing.T) {
	for _, name := range []string{"jpeg420.jpg", "jpeg422progressive.jpg", "jpegcmyk.jpg", "webplossy.webp", "webplossless.webp",
		"webpalpha.webp"} {
		encoded, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("testdata", strings.TrimSuffix(name, filepath.Ext(name))+".png"))
		if err != nil {
			t.Fatal(err)
		}
		most, mean := difference(t, mustDecode(t, encoded), mustDecode(t, want))
		if most > 3 || mean > 0.2 {
			t.Errorf("%s: differs by up to %d levels, %.3f on average", name, most, mean)
		}
	}
}

// pngOf encodes one pixel of every colour side by side.
func pngOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPixelsOfEveryKindLieOverWhite(t *testing.T) {
	row := image.Rect(0, 0, 2, 1)
	grey, grey16 := image.NewGray(row), image.NewGray16(row)
	grey.Pix = []uint8{7, 250}
	grey16.SetGray16(0, 0, color.Gray16{Y: 0x00ff}) // 0.99 of 255
	grey16.SetGray16(1, 0, color.Gray16{Y: 0xffff})
	half, half16 := image.NewNRGBA(row), image.NewNRGBA64(row)
	half.SetNRGBA(0, 0, color.NRGBA{R: 200, G: 100, B: 0, A: 128})
	half.SetNRGBA(1, 0, color.NRGBA{R: 10, G: 20, B: 30, A: 255})
	half16.SetNRGBA64(0, 0, color.NRGBA64{R: 200 * 257, G: 100 * 257, B: 0, A: 128 * 257})
	half16.SetNRGBA64(1, 0, color.NRGBA64{A: 0})
	solidColours := image.NewRGBA(row)
	solidColours.Pix = []uint8{1, 2, 3, 255, 253, 254, 255, 255}
	palette := image.NewPaletted(row, color.Palette{color.NRGBA{R: 200, G: 100, B: 0, A: 128}, color.NRGBA{R: 9, G: 8, B: 7, A: 255}})
	palette.Pix = []uint8{1, 0}
	// 200*128/255 + 255*127/255 = 227.4; 100: 177.2; 0: 127.
	for name, c := range map[string]struct {
		picture image.Image
		want    []uint8
	}{
		"8-bit grey":      {grey, []uint8{7, 7, 7, 250, 250, 250}},
		"16-bit grey":     {grey16, []uint8{1, 1, 1, 255, 255, 255}},
		"half opaque":     {half, []uint8{227, 177, 127, 10, 20, 30}},
		"16-bit, opacity": {half16, []uint8{227, 177, 127, 255, 255, 255}},
		"opaque":          {solidColours, []uint8{1, 2, 3, 253, 254, 255}},
		"palette":         {palette, []uint8{9, 8, 7, 227, 177, 127}},
	} {
		if p := mustDecode(t, pngOf(t, c.picture)); !bytes.Equal(p.Pix, c.want) {
			t.Errorf("%s: %v, want %v", name, p.Pix, c.want)
		}
	}
	premultiplied := image.NewRGBA(row)
	premultiplied.Pix = []uint8{100, 50, 0, 128, 0, 0, 0, 0}
	if got, want := toRGB(premultiplied, &fullRange).Pix, []uint8{227, 177, 127, 255, 255, 255}; !bytes.Equal(got, want) {
		t.Errorf("premultiplied: %v, want %v", got, want)
	}
}

func TestHalvedChromaIsInterpolated(t *testing.T) {
	const width, height = 37, 23
	for ratio, allowed := range map[image.YCbCrSubsampleRatio]float64{
		image.YCbCrSubsampleRatio444: 0.6, image.YCbCrSubsampleRatio440: 0.6,
		image.YCbCrSubsampleRatio422: 1.2, image.YCbCrSubsampleRatio420: 1.2, // chroma is rounded to levels
		image.YCbCrSubsampleRatio411: 5, image.YCbCrSubsampleRatio410: 5, // repeated: up to 1.5 pixels off
	} {
		m := image.NewYCbCr(image.Rect(0, 0, width, height), ratio)
		sums, counts := make([]int, len(m.Cr)), make([]int, len(m.Cr))
		for y := range height {
			for x := range width {
				m.Y[m.YOffset(x, y)] = 120
				sums[m.COffset(x, y)] += 60 + 2*x
				counts[m.COffset(x, y)]++
			}
		}
		for i, sum := range sums {
			m.Cb[i] = 100
			if counts[i] > 0 {
				m.Cr[i] = uint8(sum / counts[i])
			}
		}
		p := fromYCbCr(m, &fullRange)
		for y := range height {
			for x := 1; x < width-1; x++ { // beyond the border nothing can be known
				// JFIF: R = Y + 1.402 (Cr - 128), B = Y + 1.772 (Cb - 128)
				red, blue := 120+1.402*(60+2*float64(x)-128), 120+1.772*(100-128)
				at := p.Pix[(y*width+x)*3:]
				if math.Abs(float64(at[0])-red) > allowed || math.Abs(float64(at[2])-blue) > 0.6 {
					t.Fatalf("%v: red %d and blue %d at (%d,%d), want %.1f and %.1f", ratio, at[0], at[2], x, y, red, blue)
				}
			}
		}
	}
}

func TestGIFShowsItsFirstFrameOnItsCanvas(t *testing.T) {
	red, blue := color.RGBA{R: 255, A: 255}, color.RGBA{B: 255, A: 255}
	first := image.NewPaletted(image.Rect(1, 0, 2, 1), color.Palette{red})
	second := image.NewPaletted(image.Rect(0, 0, 3, 1), color.Palette{blue})
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{first, second}, Delay: []int{1, 1},
		Config: image.Config{Width: 3, Height: 1}}); err != nil {
		t.Fatal(err)
	}
	if got, want := mustDecode(t, b.Bytes()).Pix, []uint8{255, 255, 255, 255, 0, 0, 255, 255, 255}; !bytes.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

func TestBMPIsRead(t *testing.T) {
	p := drawScene(1, 0, 16)
	var b bytes.Buffer
	if err := bmp.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(mustDecode(t, b.Bytes()).Pix, p.Pix) {
		t.Fatal("another picture")
	}
	if formatOf([]byte("BMW is a maker of cars and motorcycles.")) != nil {
		t.Fatal("prose taken for a BMP")
	}
}

// oriented is a JPEG whose quarters are red and green above blue and white as
// stored, with an EXIF orientation.
func oriented(t testing.TB, orientation int, order binary.AppendByteOrder) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 48, 32))
	for y := range 32 {
		for x := range 48 {
			m.Set(x, y, quarter[y/16*2+x/24])
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 95}); err != nil {
		t.Fatal(err)
	}
	tiff := []byte("MM\x00*")
	if order == binary.AppendByteOrder(binary.LittleEndian) {
		tiff = []byte("II*\x00")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, 2)
	for _, entry := range [][2]uint16{{0x010f, 0}, {0x0112, uint16(orientation)}} { // the maker, then the orientation
		tiff = order.AppendUint16(order.AppendUint16(tiff, entry[0]), 3)
		tiff = order.AppendUint16(order.AppendUint32(tiff, 1), entry[1])
		tiff = append(tiff, 0, 0)
	}
	segment := append([]byte("Exif\x00\x00"), tiff...)
	header := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(segment)+2))
	return bytes.Join([][]byte{b.Bytes()[:2], header, segment, b.Bytes()[2:]}, nil)
}

var quarter = []color.RGBA{{R: 255, A: 255}, {G: 255, A: 255}, {B: 255, A: 255}, {R: 255, G: 255, B: 255, A: 255}}

// The EXIF standard says, for every orientation, on which visible side lie the
// stored row 0 and column 0. Corners are numbered as quarters: 0 top left, 1
// top right, 2 bottom left, 3 bottom right.
func TestOrientationPutsCornersWhereEXIFSays(t *testing.T) {
	for orientation, want := range map[int]struct{ first, endOfRow int }{ // where the stored first pixel and the end of row 0 are seen
		1: {0, 1}, // top, left
		2: {1, 0}, // top, right
		3: {3, 2}, // bottom, right
		4: {2, 3}, // bottom, left
		5: {0, 2}, // left, top
		6: {1, 3}, // right, top
		7: {3, 1}, // right, bottom
		8: {2, 0}, // left, bottom
	} {
		for _, order := range []binary.AppendByteOrder{binary.BigEndian, binary.LittleEndian} {
			p := mustDecode(t, oriented(t, orientation, order))
			if wide := p.Width > p.Height; wide != (orientation < 5) {
				t.Errorf("orientation %d: %d x %d pixels", orientation, p.Width, p.Height)
			}
			for stored, seen := range map[int]int{0: want.first, 1: want.endOfRow} {
				x, y := seen%2*(p.Width/2)+p.Width/4, seen/2*(p.Height/2)+p.Height/4
				got, c := p.RGBA64At(x, y), quarter[stored]
				if near := func(a uint16, b uint8) bool { d := int(a>>8) - int(b); return d > -40 && d < 40 }; !near(got.R, c.R) ||
					!near(got.G, c.G) || !near(got.B, c.B) {
					t.Errorf("orientation %d: corner %d is %v, want the stored corner %d, %v", orientation, seen, got, stored, c)
				}
			}
		}
	}
}

// forgedPNG claims a size without having the pixels.
func forgedPNG(width, height uint32) []byte {
	chunk := []byte("IHDR")
	chunk = binary.BigEndian.AppendUint32(chunk, width)
	chunk = binary.BigEndian.AppendUint32(chunk, height)
	chunk = append(chunk, 8, 2, 0, 0, 0)
	file := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), chunk...)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(chunk))
}

func TestUnusableFilesSayWhy(t *testing.T) {
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, drawScene(1, 0, 64), nil); err != nil {
		t.Fatal(err)
	}
	flipped := pngOf(t, drawScene(1, 0, 32))
	flipped[len(flipped)/2] ^= 0x40
	for reason, encoded := range map[string][]byte{
		"it is empty":                       {},
		"its content is no JPEG, PNG":       []byte("hello, world"),
		"TIFF pictures are not read":        []byte("II*\x00\x08\x00\x00\x00"),
		"AVIF pictures are not read":        []byte("\x00\x00\x00\x20ftypavif\x00\x00\x00\x00"),
		"the JPEG is cut short":             photo.Bytes()[:photo.Len()/2],
		"the PNG cannot be decoded":         flipped,
		"30000 x 30000 pixels are more":     forgedPNG(30_000, 30_000),
		"the PNG is cut short":              forgedPNG(30, 30),
		"the GIF is cut short":              []byte("GIF89a\x01\x00"),
		"the WebP cannot be decoded":        []byte("RIFF\x10\x00\x00\x00WEBPJUNK\x04\x00\x00\x00\x00\x00\x00\x00"),
		"invalid format: non-positive dime": forgedPNG(0, 9),
	} {
		p, err := decode(encoded)
		if err == nil {
			t.Errorf("%q: decoded to %d x %d", reason, p.Width, p.Height)
		} else if !strings.Contains(err.Error(), reason) {
			t.Errorf("error %q, want one with %q", err, reason)
		}
	}
}

func TestAPictureIsAnImage(t *testing.T) {
	p := drawScene(5, 5, 9)
	back, err := png.Decode(bytes.NewReader(pngOf(t, p)))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []image.Point{{}, {X: 8, Y: 8}, {X: 3, Y: 7}} {
		if got, want := fmt.Sprint(p.At(at.X, at.Y).RGBA()), fmt.Sprint(back.At(at.X, at.Y).RGBA()); got != want {
			t.Errorf("at %v: %s, want %s", at, got, want)
		}
		if got, want := fmt.Sprint(p.RGBA64At(at.X, at.Y).RGBA()), fmt.Sprint(back.At(at.X, at.Y).RGBA()); got != want {
			t.Errorf("16 bits at %v: %s, want %s", at, got, want)
		}
	}
	if _, _, _, alpha := p.At(9, 0).RGBA(); alpha != 0 {
		t.Error("there is a pixel outside")
	}
}
