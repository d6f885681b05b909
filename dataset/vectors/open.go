package vectors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/dataset"
)

// Options refine Open. The zero value suits files with one matrix in them.
type Options struct {
	// Member names the array to read from an .npz file.
	Member string
	// Column names the list column to read from a .parquet file.
	Column string
	// SpoolDir holds the temporary copy that parquet files, compressed .npz
	// members and Fortran-ordered arrays need; os.TempDir when empty. The
	// copy takes 4 bytes a number (compressed members: their full size).
	SpoolDir string
	// Progress, if set, is told how many rows of such a copy are done.
	Progress func(done, total int)
}

// ErrFormat is in the errors about files that are of no known format, so that a
// program that reads more than these can say so.
var ErrFormat = errors.New("in no known format")

// maxDim bounds the components of a row, so that a damaged header cannot ask
// for absurd buffers.
const maxDim = 1 << 20

// vectorFormats completes the sentence "this is none of".
const vectorFormats = ".npy, .npz, .parquet, .fvecs or .bvecs"

func init() { dataset.Register(dataset.Vectors, ".npy", ".npz", ".parquet", ".fvecs", ".bvecs") }

// Open returns the vectors behind path:
//
//   - .npy: a 2-d array of float16, float32 or float64, either byte order
//   - .npz: such an array among others, chosen as "file.npz:member" or by
//     Options.Member
//   - .parquet: a column of lists of float or double, all of one length
//   - .fvecs, .bvecs: rows of a 32-bit dimension followed by float32 or bytes
//   - "synthetic:NAME?rows=N&dim=D&seed=S": manifold or mixture
//
// The first bytes of the file decide its format, then the extension. Numbers
// become float32 as they are read. Errors are one sentence that names the file
// and what to do. ctx stops the conversion of files that need a spool.
func Open(ctx context.Context, path string, opt Options) (*Vectors, error) {
	if dataset.IsSynthetic(path) {
		return openSynthetic(path)
	}
	if file, member, ok := splitMember(path); ok {
		path, opt.Member = file, member
	}
	file, size, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	vectors, err := openVectors(ctx, path, file, size, opt)
	if err != nil {
		file.Close()
		return nil, err
	}
	return vectors, nil
}

// openVectors chooses the reader. The Vectors it returns owns file.
func openVectors(ctx context.Context, path string, file *os.File, size int64, opt Options) (*Vectors, error) {
	format, err := detect(path, file, vectorFormats)
	if err != nil {
		return nil, err
	}
	switch format {
	case ".npy":
		return openNPY(ctx, path, file, size, file, opt)
	case ".npz":
		return openNPZ(ctx, path, file, size, opt)
	case ".parquet":
		return openParquetVectors(ctx, path, file, size, opt)
	case ".fvecs", ".bvecs":
		return openVecs(path, format, file, size, file)
	}
	return nil, fmt.Errorf("%s holds no vectors this program can read: it is none of %s", path, vectorFormats)
}

// splitMember separates "file.npz:member", unless a file of that whole name
// exists.
func splitMember(path string) (file, member string, ok bool) {
	at := strings.LastIndex(path, ".npz:")
	if at < 0 {
		return "", "", false
	}
	if _, err := os.Stat(path); err == nil {
		return "", "", false
	}
	return path[:at+len(".npz")], path[at+len(".npz:"):], true
}

// OpenRegular opens a file with something in it and returns its size.
func OpenRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path) // before opening: a named pipe would block
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, fmt.Errorf("cannot read %s: %w; check the path", path, fs.ErrNotExist)
	case err != nil:
		return nil, 0, fmt.Errorf("cannot read %s: %w", path, err)
	case info.IsDir():
		return nil, 0, fmt.Errorf("%s is a directory; name a file inside it", path)
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is no regular file and cannot be read at any position; save its content to a file first", path)
	case info.Size() == 0:
		return nil, 0, fmt.Errorf("%s is empty; write it again", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return file, info.Size(), nil
}

// foreignMagic names formats that are often handed in by mistake.
var foreignMagic = []struct{ magic, name, advice string }{
	{"\x89HDF", "an HDF5 file", "export the array with numpy.save"},
	{"\x1f\x8b", "gzip-compressed", "decompress it first"},
	{"\x28\xb5\x2f\xfd", "zstd-compressed", "decompress it first"},
	{"ARROW1", "an Arrow file", "write it as parquet"},
	{"\x80\x02", "a Python pickle, which is never read", "save the array with numpy.save"},
	{"\x80\x03", "a Python pickle, which is never read", "save the array with numpy.save"},
	{"\x80\x04", "a Python pickle, which is never read", "save the array with numpy.save"},
	{"\x80\x05", "a Python pickle, which is never read", "save the array with numpy.save"},
}

// detect returns the format as its usual extension: by the first bytes where
// the format has any, else by the name. An error lists the formats expected.
func detect(path string, file io.ReaderAt, expected string) (string, error) {
	head := make([]byte, 8)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	start := string(head[:n])
	switch {
	case strings.HasPrefix(start, npyMagic):
		return ".npy", nil
	case strings.HasPrefix(start, "PK\x03\x04"), strings.HasPrefix(start, "PK\x05\x06"):
		return ".npz", nil
	case strings.HasPrefix(start, "PAR1"):
		return ".parquet", nil
	}
	extension := strings.ToLower(filepath.Ext(path))
	switch extension {
	case ".fvecs", ".bvecs", ".jsonl": // no magic bytes of their own
		return extension, nil
	}
	for _, foreign := range foreignMagic {
		if strings.HasPrefix(start, foreign.magic) {
			return "", fmt.Errorf("%s is %s; %s", path, foreign.name, foreign.advice)
		}
	}
	switch extension {
	case ".npy":
		return "", fmt.Errorf("%s is no NumPy array: it starts with %q, expected %q; write it with numpy.save", path, start, npyMagic)
	case ".npz":
		return "", fmt.Errorf("%s is no .npz archive: it starts with %q, expected %q; write it with numpy.savez", path, start, "PK\x03\x04")
	case ".parquet":
		return "", fmt.Errorf("%s is no parquet file: it starts with %q, expected %q; write it again", path, start, "PAR1")
	}
	return "", fmt.Errorf("%s is %w (by its first bytes and its extension); expected %s", path, ErrFormat, expected)
}
