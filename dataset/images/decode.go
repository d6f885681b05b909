package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
	"sync"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"

	"github.com/gritvq/gritvq/internal/memory"
)

// Limits of a picture, since headers are cheap to forge.
const (
	maxPixels  = 200_000_000
	manyPixels = 32_000_000 // pictures above this are decoded one at a time
	maxEncoded = 512 << 20  // bytes of a file

	decodedBytes = 8 + 3 // of a pixel: four channels of 16 bits, and the picture made of them
)

// decodingLarge is held while a large picture is decoded, so that several of
// them at once do not exhaust the memory.
var decodingLarge sync.Mutex

// format is an encoding of pictures.
type format struct {
	name    string
	matches func(head []byte) bool
	config  func(io.Reader) (image.Config, error)
	decode  func(io.Reader) (image.Image, error)
}

var formats = []format{
	{"JPEG", startsWith("\xff\xd8\xff"), jpeg.DecodeConfig, jpeg.Decode},
	{"PNG", startsWith("\x89PNG\r\n\x1a\n"), png.DecodeConfig, png.Decode},
	{"GIF", startsWith("GIF8"), gif.DecodeConfig, firstFrame},
	{"WebP", startsWith("RIFF????WEBP"), webp.DecodeConfig, webp.Decode},
	{"BMP", isBMP, bmp.DecodeConfig, bmp.Decode},
}

// formatNames completes the sentence "no pictures of a kind that is read".
const formatNames = "JPEG, PNG, GIF, WebP or BMP"

// foreignFormats are kinds of pictures that are recognised, to name them in
// errors, but not read.
var foreignFormats = []struct {
	name    string
	matches func(head []byte) bool
}{
	{"TIFF", startsWith("II*\x00")}, {"TIFF", startsWith("MM\x00*")},
	{"AVIF", startsWith("????ftypavi")}, {"HEIC", startsWith("????ftyphe")}, {"HEIC", startsWith("????ftypmif1")},
	{"JPEG XL", startsWith("\xff\x0a")}, {"JPEG XL", startsWith("\x00\x00\x00\x0cJXL ")},
}

// headBytes is how much of a file tells its format.
const headBytes = 32

// startsWith matches a beginning in which ? stands for any byte.
func startsWith(pattern string) func([]byte) bool {
	return func(head []byte) bool {
		if len(head) < len(pattern) {
			return false
		}
		for i := range len(pattern) {
			if pattern[i] != '?' && pattern[i] != head[i] {
				return false
			}
		}
		return true
	}
}

// isBMP looks beyond the magic "BM", which can begin a text as well: at the
// reserved zeros and at the size of the second header.
func isBMP(head []byte) bool {
	if len(head) < 18 || string(head[:2]) != "BM" || binary.LittleEndian.Uint32(head[6:]) != 0 {
		return false
	}
	second := binary.LittleEndian.Uint32(head[14:])
	return second >= 12 && second <= 124
}

// formatOf tells the format by the first bytes, or nil.
func formatOf(head []byte) *format {
	for i := range formats {
		if formats[i].matches(head) {
			return &formats[i]
		}
	}
	return nil
}

// noPicture says why a file with such a beginning is not read.
func noPicture(head []byte) error {
	for _, foreign := range foreignFormats {
		if foreign.matches(head) {
			return fmt.Errorf("%s pictures are not read; convert it to PNG or JPEG", foreign.name)
		}
	}
	return fmt.Errorf("its content is no %s (it begins with %q)", formatNames, head[:min(len(head), 8)])
}

// decode turns the bytes of a file into an upright picture.
func decode(encoded []byte) (p *RGB, err error) {
	if len(encoded) == 0 {
		return nil, errors.New("it is empty")
	}
	f := formatOf(encoded)
	if f == nil {
		return nil, noPicture(encoded)
	}
	defer func() { // a decoder that fails on forged input must not end a run
		if failure := recover(); failure != nil {
			p, err = nil, fmt.Errorf("the %s decoder failed: %v", f.name, failure)
		}
	}()
	config, err := f.config(bytes.NewReader(encoded))
	if err != nil {
		return nil, decodingError(f, err)
	}
	pixels := int64(config.Width) * int64(config.Height)
	switch {
	case config.Width < 1 || config.Height < 1:
		return nil, fmt.Errorf("its size is %d x %d pixels", config.Width, config.Height)
	case pixels > maxPixels:
		return nil, fmt.Errorf("its %d x %d pixels are more than the %d million that are read", config.Width, config.Height, maxPixels/1_000_000)
	case pixels > manyPixels:
		decodingLarge.Lock()
		defer decodingLarge.Unlock()
	}
	if err := memory.Check(fmt.Sprintf("a picture of %d x %d pixels", config.Width, config.Height), int(pixels), decodedBytes); err != nil {
		return nil, err
	}
	m, err := f.decode(bytes.NewReader(encoded))
	if err != nil {
		return nil, decodingError(f, err)
	}
	switch f.name {
	case "WebP":
		return toRGB(m, &videoRange), nil
	case "JPEG":
		return turn(toRGB(m, &fullRange), orientation(encoded)), nil
	}
	return toRGB(m, &fullRange), nil
}

// decodingError words an error of a decoder.
func decodingError(f *format, err error) error {
	text := err.Error() // "png: invalid format: bad checksum", or without the name
	if strings.HasSuffix(text, "EOF") || strings.HasSuffix(text, "short Huffman data") {
		return fmt.Errorf("the %s is cut short", f.name)
	}
	if _, after, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(strings.ToLower(text), strings.ToLower(f.name)) {
		text = after
	}
	return fmt.Errorf("the %s cannot be decoded: %s", f.name, text)
}

// firstFrame decodes the first frame of a GIF and places it on its canvas.
func firstFrame(r io.Reader) (image.Image, error) {
	var header bytes.Buffer
	config, err := gif.DecodeConfig(io.TeeReader(r, &header))
	if err != nil {
		return nil, err
	}
	frame, err := gif.Decode(io.MultiReader(&header, r))
	if err != nil {
		return nil, err
	}
	canvas := image.NewRGBA(image.Rect(0, 0, config.Width, config.Height))
	draw.Draw(canvas, frame.Bounds(), frame, frame.Bounds().Min, draw.Src)
	return canvas, nil
}
