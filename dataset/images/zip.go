package images

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// encrypted is the flag of a zip member that needs a password.
const encrypted = 1

// openZip makes an archive of the pictures in a zip, in its own order.
func openZip(
	ctx context.Context, path string, file io.ReaderAt, size int64, closer io.Closer, progress func(done, total int64),
) (*archive, error) {
	reader, err := zip.NewReader(file, size)
	if err != nil {
		return nil, fmt.Errorf("%s is cut short or damaged: the list of contents at its end cannot be read (%w); copy it again", path, err)
	}
	var members []member
	for i, f := range reader.File {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if progress != nil {
			progress(int64(i), int64(len(reader.File)))
		}
		name := cleanName(strings.ReplaceAll(f.Name, `\`, "/")) // as some Windows programs write
		if f.FileInfo().IsDir() || isHidden(name) {
			continue
		}
		if isPicture(name, func() []byte { return headOfZipped(f) }) {
			members = append(members, member{name: name, size: int64(min(f.UncompressedSize64, 1<<62)), place: int64(i)})
		}
	}
	if len(members) == 0 {
		return nil, fmt.Errorf("%s holds no pictures (%s) among its %d members; pack some into it", path, formatNames, len(reader.File))
	}
	return newArchive(path, members, func(m member) ([]byte, error) { return readZipped(reader.File[m.place]) }, closer), nil
}

func headOfZipped(f *zip.File) []byte {
	content, err := f.Open()
	if err != nil {
		return nil
	}
	defer content.Close()
	return headOf(content)
}

// readZipped decompresses a member and checks its checksum. No more is held
// than its header promises, which the caller has found bearable.
func readZipped(f *zip.File) ([]byte, error) {
	if f.Flags&encrypted != 0 {
		return nil, errors.New("it is encrypted; pack it again without a password")
	}
	content, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer content.Close()
	bytes, err := io.ReadAll(io.LimitReader(content, int64(f.UncompressedSize64)+1))
	if err == nil && uint64(len(bytes)) > f.UncompressedSize64 {
		err = errors.New("it is longer than its header says")
	}
	return bytes, err
}
