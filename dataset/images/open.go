package images

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/rowfile"
)

// Options choose the squares cut from pictures. Only Size has no default.
type Options struct {
	// Size is the side of the squares. It may be 0 when only Whole is used.
	Size int
	// Short is the length of short sides after resizing, before a square is
	// cut: round(Size*286/256) when 0.
	Short int
	// Cache bounds the bytes of prepared pictures kept in memory, which are
	// decoded once: 2 GiB when 0, none when negative.
	Cache int64
	// Workers is the number of goroutines that decode a batch: GOMAXPROCS when
	// 0.
	Workers int
	// Progress, if set, is told how far Open is: bytes of a tar, members of a
	// zip, files of a folder (whose total is unknown: 0).
	Progress func(done, total int64)
	// Warn, if set, is told of every damaged picture once, when it is first
	// met; calls do not overlap.
	Warn func(Damage)
}

// defaultCache is the memory that prepared pictures take unless told.
const defaultCache = 2 << 30

// maxSide bounds Size and Short.
const maxSide = 8192

// withDefaults fills in and checks options.
func (o Options) withDefaults() (Options, error) {
	if o.Short == 0 {
		o.Short = int(math.Round(float64(o.Size) * 286 / 256))
	}
	if o.Cache == 0 {
		o.Cache = defaultCache
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case o.Size < 0 || o.Size > maxSide:
		return o, fmt.Errorf("squares of %d pixels are impossible; use a size from 1 to %d", o.Size, maxSide)
	case o.Short < o.Size || o.Short > 2*maxSide:
		return o, fmt.Errorf("a short side of %d pixels is impossible for squares of %d; use %d or more, up to %d",
			o.Short, o.Size, o.Size, 2*maxSide)
	case o.Workers < 1:
		return o, fmt.Errorf("%d workers cannot decode pictures; use 1 or more", o.Workers)
	}
	return o, nil
}

func init() {
	dataset.Register(dataset.Pictures, ".tar", ".zip")
	dataset.Register(dataset.Picture, ".jpg", ".jpeg", ".png", ".gif", ".webp", ".bmp")
}

// Open returns the pictures behind path:
//
//   - a folder: the pictures in it and below, sorted by path; links are followed
//   - .tar: its pictures in its own order, WebDataset labels passed over
//   - .zip: likewise
//   - a picture: a set of one
//   - "synthetic:scenes?images=N&size=S&seed=X": landscapes, portraits, still
//     lifes, towns and heaps of leaves, drawn when they are read; 10,000 of 64
//     pixels with seed 1 unless told
//
// The first bytes of a file decide its format, not its name. Nothing is decoded
// yet. Errors are one sentence that names the file and a remedy. ctx stops the
// search for pictures.
func Open(ctx context.Context, path string, options Options) (*Set, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	pictures, err := openOrigin(ctx, path, options.Progress)
	if err != nil {
		return nil, err
	}
	return newSet(path, pictures, options), nil
}

func openOrigin(ctx context.Context, path string, progress func(done, total int64)) (origin, error) {
	if dataset.IsSynthetic(path) {
		return openSynthetic(path)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return openFolder(ctx, path, progress)
	}
	file, size, err := rowfile.Open(path)
	if err != nil {
		return nil, err
	}
	pictures, err := openFile(ctx, path, file, size, progress)
	if err != nil {
		file.Close()
		return nil, err
	}
	return pictures, nil
}

// compressed are the first bytes of gzip, zstd, bzip2 and xz files.
var compressed = []string{"\x1f\x8b", "\x28\xb5\x2f\xfd", "BZh", "\xfd7zXZ"}

// openFile makes an archive of a file, which it owns unless it fails.
func openFile(ctx context.Context, path string, file *os.File, size int64, progress func(done, total int64)) (*archive, error) {
	head := make([]byte, headBytes)
	n, _ := file.ReadAt(head, 0)
	head = head[:n]
	start, extension := string(head), strings.ToLower(filepath.Ext(path))
	switch {
	case formatOf(head) != nil:
		return openPicture(path, size), file.Close()
	case strings.HasPrefix(start, "PK\x03\x04"), strings.HasPrefix(start, "PK\x05\x06"):
		return openZip(ctx, path, file, size, file, progress)
	case isTar(file), extension == ".tar":
		return openTar(ctx, path, file, size, file, progress)
	case slices.ContainsFunc(compressed, func(magic string) bool { return strings.HasPrefix(start, magic) }):
		return nil, fmt.Errorf("%s is compressed as a whole, which forbids reading at any position; decompress it first", path)
	case extension == ".zip":
		return nil, fmt.Errorf("%s is no zip: it begins with %q; copy or pack it again", path, head[:min(n, 4)])
	case claims[extension]:
		return nil, fmt.Errorf("%s is no picture: %w", path, noPicture(head))
	}
	return nil, fmt.Errorf("%s is neither a folder nor a tar, a zip or a picture (%s); name one of these", path, formatNames)
}
