package images

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/gritvq/gritvq/internal/memory"
)

// A picture that does not fit into memory ends the work: it is not left out as a damaged one is.
func TestPicturesAreWeighed(t *testing.T) {
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, image.NewGray(image.Rect(0, 0, 4000, 4000))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "large.png"), encoded.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	set := mustOpen(t, dir, Options{Size: 8, Workers: 1})
	t.Setenv("GOMEMLIMIT", "100MiB")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(100 << 20))
	_, err := set.Whole(0)
	_, large := errors.AsType[*memory.Exceeded](err)
	_, damaged := errors.AsType[*Damage](err)
	if !large || damaged {
		t.Errorf("got %v", err)
	}
}
