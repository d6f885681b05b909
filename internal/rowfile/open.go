package rowfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrFormat is in the errors about files of no known format, so that a program
// that reads further formats can add them.
var ErrFormat = errors.New("in no known format")

// Open opens a regular file that is not empty and returns its size.
func Open(path string) (*os.File, int64, error) {
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

// Format is a file format, known by its first bytes or, without any, by its
// extension.
type Format struct {
	Extension string
	Magic     []string
	Name      string // "no NAME" is the complaint about other first bytes
	Advice    string // how to write such a file
	Text      bool   // without Magic: first bytes of a known binary file are a mistake
}

// Formats of vectors and of codes.
var (
	NPY = Format{Extension: ".npy", Magic: []string{npyMagic}, Name: "NumPy array", Advice: "write it with numpy.save"}
	NPZ = Format{
		Extension: ".npz", Magic: []string{"PK\x03\x04", "PK\x05\x06"}, Name: ".npz archive", Advice: "write it with numpy.savez",
	}
	Parquet = Format{Extension: ".parquet", Magic: []string{"PAR1"}, Name: "parquet file", Advice: "write it again"}
)

// foreign formats are often given by mistake; Name completes "this is".
var foreign = []Format{
	{Magic: []string{"\x89HDF"}, Name: "an HDF5 file", Advice: "export the array with numpy.save"},
	{Magic: []string{"\x1f\x8b"}, Name: "gzip-compressed", Advice: "decompress it first"},
	{Magic: []string{"\x28\xb5\x2f\xfd"}, Name: "zstd-compressed", Advice: "decompress it first"},
	{Magic: []string{"ARROW1"}, Name: "an Arrow file", Advice: "write it as parquet"},
	{
		Magic: []string{"\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05"}, Name: "a Python pickle, which is never read",
		Advice: "save the array with numpy.save",
	},
}

func (f Format) begins(start string) bool {
	for _, magic := range f.Magic {
		if strings.HasPrefix(start, magic) {
			return true
		}
	}
	return false
}

// Detect returns the position in formats of a file's format: by its first bytes,
// else by its extension. Content is "vectors" or "codes", for errors.
func Detect(path string, file io.ReaderAt, content string, formats []Format) (int, error) {
	head := make([]byte, 8)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("reading %s: %w", path, err)
	}
	start, extension := string(head[:n]), strings.ToLower(filepath.Ext(path))
	for i, format := range formats {
		if format.begins(start) {
			return i, nil
		}
	}
	for i, format := range formats {
		if len(format.Magic) == 0 && format.Extension == extension && !(format.Text && foreignError(path, start) != nil) {
			return i, nil
		}
	}
	if err := foreignError(path, start); err != nil {
		return 0, err
	}
	for _, format := range formats {
		if format.Extension == extension {
			return 0, fmt.Errorf("%s is no %s: it starts with %q, expected %q; %s", path, format.Name, start, format.Magic[0], format.Advice)
		}
	}
	if NPZ.begins(start) {
		return 0, fmt.Errorf("%s holds no %s this program can read; expected %s", path, content, List(formats))
	}
	return 0, fmt.Errorf("%s is %w (by its first bytes and its extension); expected %s", path, ErrFormat, List(formats))
}

// foreignError names a format that is not read, and the way out.
func foreignError(path, start string) error {
	for _, format := range foreign {
		if format.begins(start) {
			return fmt.Errorf("%s is %s; %s", path, format.Name, format.Advice)
		}
	}
	return nil
}

// List names formats by their extensions: ".npy, .npz or .parquet".
func List(formats []Format) string {
	text := formats[0].Extension
	for i, format := range formats[1:] {
		if i == len(formats)-2 {
			text += " or " + format.Extension
		} else {
			text += ", " + format.Extension
		}
	}
	return text
}

// CheckRead refuses rows outside a matrix [rows, cols], and buffers of another
// length.
func CheckRead(path string, rows, cols, start, n, length int) error {
	switch {
	case start < 0 || n < 0 || start > rows-n:
		return fmt.Errorf("reading %s: rows %d to %d do not exist, it has %d", path, start, start+n-1, rows)
	case length != n*cols:
		return fmt.Errorf("reading %s: a buffer of %d numbers cannot hold %d rows of %d", path, length, n, cols)
	}
	return nil
}
