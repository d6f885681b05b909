package vectors

import (
	"context"
	"os"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/rowfile"
)

// Options refine Open. The zero value suits files with one matrix in them.
type Options struct {
	// Member names what to read of a file that holds several: the array of an
	// .npz, the tensor of a .safetensors, the list column of a .parquet.
	Member string
	// SpoolDir holds the temporary copy that parquet and text files, compressed
	// .npz members and Fortran-ordered arrays need; os.TempDir when empty. The
	// copy takes 4 bytes a number (compressed members: their full size).
	SpoolDir string
	// Progress, if set, is told how many rows of such a copy are done.
	Progress func(done, total int)
}

// ErrFormat is in the errors about files of no known format, so that a program
// that reads further formats can add them.
var ErrFormat = rowfile.ErrFormat

const maxDim = rowfile.MaxDim

// format reads vectors from files and writes them.
type format struct {
	rowfile.Format
	// open returns vectors that own the file, unless it fails.
	open func(ctx context.Context, f source, opt Options) (*Vectors, error)
	// create encodes rows of dim numbers; nil if the format is only read.
	create func(f *atomicfile.File, dim, rows int) (rowfile.Encoder[float32], error)
	// selects is true if "FILE:NAME" names a part of the file.
	selects bool
	// shared is true if the extension belongs to another kind of data.
	shared bool
}

// source is an opened file of size bytes.
type source struct {
	*os.File
	path string
	size int64
}

// formats lists every format of vectors; a new one is added here.
var formats = []format{npyFormat, npzFormat, safetensorsFormat, parquetFormat, fvecsFormat, bvecsFormat, csvFormat, tsvFormat, txtFormat}

func init() {
	for _, f := range formats {
		if !f.shared {
			dataset.Register(dataset.Vectors, f.Extension)
		}
	}
}

// Open returns the vectors behind path:
//
//   - .npy: a 2-d array of float16, float32 or float64, either byte order
//   - .npz: such an array among others, chosen as "file.npz:member" or by
//     Options.Member
//   - .safetensors: a 2-d tensor of F16, BF16, F32 or F64, chosen likewise
//   - .parquet: a column of lists of float or double, all of one length, chosen
//     likewise; or a column a dimension, as DataFrame.to_parquet writes
//   - .csv, .tsv, .txt: a row of numbers a line, with or without a header
//   - .fvecs, .bvecs: rows of a 32-bit dimension followed by float32 or bytes
//   - "synthetic:NAME?rows=N&dim=D&seed=S": manifold or mixture
//
// The first bytes of the file decide its format, then the extension. Numbers
// become float32 as they are read. Errors are one sentence that names the file
// and a remedy. ctx stops the conversion of files that need a spool.
func Open(ctx context.Context, path string, opt Options) (*Vectors, error) {
	if dataset.IsSynthetic(path) {
		return openSynthetic(path)
	}
	if file, member := splitMember(path); member != "" {
		path, opt.Member = file, member
	}
	file, size, err := rowfile.Open(path)
	if err != nil {
		return nil, err
	}
	known := make([]rowfile.Format, len(formats))
	for i, f := range formats {
		known[i] = f.Format
	}
	var vectors *Vectors
	at, err := rowfile.Detect(path, file, "vectors", known)
	if err == nil {
		vectors, err = formats[at].open(ctx, source{file, path, size}, opt)
	}
	if err != nil {
		file.Close()
	}
	return vectors, err
}

// splitMember separates "file.npz:member", unless a file of that whole name
// exists.
func splitMember(path string) (file, member string) {
	if _, err := os.Stat(path); err == nil {
		return path, ""
	}
	for _, f := range formats {
		if at := strings.LastIndex(path, f.Extension+":"); f.selects && at >= 0 {
			at += len(f.Extension)
			return path[:at], path[at+1:]
		}
	}
	return path, ""
}
