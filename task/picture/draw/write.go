package draw

import (
	"fmt"
	"image"
	"image/png"
	"io"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// WritePNG saves a picture; the file is whole or absent.
func WritePNG(path string, m image.Image) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		if err := png.Encode(w, m); err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		return nil
	})
}
