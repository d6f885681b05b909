package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

const tarBlock = 512

// isTar reports whether a file is a tar: POSIX and GNU tars carry a magic at
// byte 257.
func isTar(file io.ReaderAt) bool {
	magic := make([]byte, 5)
	_, err := file.ReadAt(magic, 257)
	return err == nil && string(magic) == "ustar"
}

// openTar makes an archive of the pictures in a tar, in its own order.
func openTar(
	ctx context.Context, path string, file io.ReaderAt, size int64, closer io.Closer, progress func(done, total int64),
) (*archive, error) {
	index := tarIndex{ctx: ctx, path: path, file: file, size: size, progress: progress}
	if err := index.build(); err != nil {
		return nil, err
	}
	if len(index.members) == 0 {
		return nil, fmt.Errorf("%s holds no pictures (%s) among its %d members; pack some into it", path, formatNames, index.seen)
	}
	read := func(m member) ([]byte, error) {
		content := make([]byte, m.size)
		n, err := file.ReadAt(content, m.place)
		if n == len(content) { // at the very end it may come with io.EOF
			err = nil
		}
		return content, err
	}
	return newArchive(path, index.members, read, closer), nil
}

// tarIndex finds the pictures of a tar.
type tarIndex struct {
	ctx      context.Context
	path     string
	file     io.ReaderAt
	size     int64
	progress func(done, total int64)
	members  []member
	seen     int
}

// build reads the headers of a tar and of those that were appended to it, as
// "cat shard-*.tar" does.
func (x *tarIndex) build() error {
	for start := int64(0); start < x.size; {
		end, err := x.one(start)
		if err != nil {
			return err
		}
		if start, err = x.afterZeros(end); err != nil {
			return err
		}
	}
	return nil
}

// one indexes the tar that begins at start and returns where it ends.
func (x *tarIndex) one(start int64) (int64, error) {
	section := io.NewSectionReader(x.file, start, x.size-start)
	position := func() int64 {
		offset, _ := section.Seek(0, io.SeekCurrent) // a SectionReader can always tell
		return start + offset
	}
	for reader := tar.NewReader(section); ; {
		if err := x.ctx.Err(); err != nil {
			return 0, err
		}
		before := position()
		header, err := reader.Next()
		switch {
		case errors.Is(err, io.EOF):
			if !x.endMarkBefore(position()) {
				return 0, x.cutShort()
			}
			return position(), nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return 0, x.cutShort()
		case err != nil:
			return 0, fmt.Errorf("%s is no sound tar after byte %d of %d (%w); copy or pack it again", x.path, before, x.size, err)
		}
		x.seen++
		if x.progress != nil {
			x.progress(before, x.size)
		}
		name := cleanName(header.Name)
		if header.Typeflag != tar.TypeReg || isHidden(name) {
			continue
		}
		place := position()
		if isPicture(name, func() []byte { return headOf(io.NewSectionReader(x.file, place, header.Size)) }) {
			x.members = append(x.members, member{name: name, size: header.Size, place: place})
		}
	}
}

func (x *tarIndex) cutShort() error {
	return fmt.Errorf("%s is cut short: it ends at byte %d, inside or right after member %d; copy it again", x.path, x.size, x.seen)
}

// endMarkBefore reports whether a block of zeros, which closes a tar, lies
// before the position.
func (x *tarIndex) endMarkBefore(position int64) bool {
	block := make([]byte, tarBlock)
	if position < tarBlock {
		return false
	}
	_, err := x.file.ReadAt(block, position-tarBlock)
	return (err == nil || errors.Is(err, io.EOF)) && isZero(block)
}

// afterZeros returns where the padding after a tar ends, at the next tar or at
// the end of the file.
func (x *tarIndex) afterZeros(position int64) (int64, error) {
	block := make([]byte, tarBlock)
	for ; position < x.size; position += tarBlock {
		if err := x.ctx.Err(); err != nil {
			return 0, err
		}
		n, err := x.file.ReadAt(block, position)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("reading %s: %w", x.path, err)
		}
		if !isZero(block[:n]) {
			return position, nil
		}
	}
	return x.size, nil
}

func isZero(block []byte) bool { return len(bytes.Trim(block, "\x00")) == 0 }
