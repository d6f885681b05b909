package images

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/memory"
)

// openFolder lists the pictures in a folder and below, sorted by path.
func openFolder(ctx context.Context, root string, progress func(done, total int64)) (*archive, error) {
	walk := folderWalk{ctx: ctx, root: root, progress: progress}
	info, err := os.Stat(root)
	if err == nil {
		err = walk.folder("", []fs.FileInfo{info})
	}
	if err != nil {
		return nil, err
	}
	if len(walk.members) == 0 {
		return nil, fmt.Errorf("%s and the folders in it hold no pictures (%s); name a folder that does", root, formatNames)
	}
	slices.SortFunc(walk.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	read := func(m member) ([]byte, error) {
		return memory.ReadFile(filepath.Join(root, filepath.FromSlash(m.name)))
	}
	return newArchive(root, walk.members, read, nil), nil
}

// folderWalk collects the pictures of a folder.
type folderWalk struct {
	ctx      context.Context
	root     string
	progress func(done, total int64)
	members  []member
	seen     int64
}

// folder visits the folder of that name, whose parents (itself included) are
// known so that a link to one of them does not lead round in circles.
func (w *folderWalk) folder(name string, parents []fs.FileInfo) error {
	entries, err := os.ReadDir(filepath.Join(w.root, filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("cannot read the folder %s: %w", filepath.Join(w.root, name), err)
	}
	for _, entry := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if isHidden(entry.Name()) {
			continue
		}
		inside := path.Join(name, entry.Name())
		file := filepath.Join(w.root, filepath.FromSlash(inside))
		info, err := os.Stat(file) // follows links
		switch {
		case err != nil: // a link to nowhere, or removed meanwhile
			continue
		case info.IsDir():
			circle := slices.ContainsFunc(parents, func(p fs.FileInfo) bool { return os.SameFile(p, info) })
			if circle {
				continue
			}
			if err := w.folder(inside, append(parents, info)); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if isPicture(inside, func() []byte { return headOfFile(file) }) {
				w.members = append(w.members, member{name: inside, size: info.Size()})
			}
			w.seen++
			if w.progress != nil {
				w.progress(w.seen, 0)
			}
		}
	}
	return nil
}

// headOfFile reads the first bytes of a file, as far as it can be read.
func headOfFile(path string) []byte {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	return headOf(file)
}

func headOf(r io.Reader) []byte {
	head := make([]byte, headBytes)
	n, _ := io.ReadFull(r, head)
	return head[:n]
}

// openPicture makes an archive of a single picture.
func openPicture(file string, size int64) *archive {
	members := []member{{name: filepath.Base(file), size: size}}
	return newArchive(file, members, func(member) ([]byte, error) { return memory.ReadFile(file) }, nil)
}
