package images

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// origin is where the pictures of a set come from.
type origin interface {
	count() int
	key(i int) string
	// picture returns picture i, undistorted. A *fs.PathError, unless the file
	// is missing or forbidden, is the disk's fault; any other error says why
	// the picture is damaged.
	picture(i int) (*RGB, error)
	fingerprint() (string, error)
	Close() error
}

// archive is an origin of encoded pictures: a folder, a tar, a zip or a file.
type archive struct {
	path    string
	members []member
	keys    []string
	// read returns the bytes of a member.
	read   func(m member) ([]byte, error)
	closer io.Closer // or nil
}

// member is a file inside an archive.
type member struct {
	name string // with slashes, relative to the archive
	size int64  // of its content
	// place is where to find it: a tar's offset, a zip's index.
	place int64
}

func newArchive(path string, members []member, read func(member) ([]byte, error), closer io.Closer) *archive {
	return &archive{path: path, members: members, keys: uniqueKeys(members), read: read, closer: closer}
}

func (a *archive) count() int       { return len(a.members) }
func (a *archive) key(i int) string { return a.keys[i] }

func (a *archive) picture(i int) (*RGB, error) {
	encoded, err := a.content(i)
	if err != nil {
		return nil, err
	}
	return decode(encoded)
}

// content reads a member of bearable size.
func (a *archive) content(i int) ([]byte, error) {
	m := a.members[i]
	if m.size > maxEncoded {
		return nil, fmt.Errorf("its %d MiB are more than the %d that are read", m.size>>20, maxEncoded>>20)
	}
	encoded, err := a.read(m)
	switch {
	case err == nil:
		return encoded, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("it is gone")
	case errors.Is(err, fs.ErrPermission):
		return nil, errors.New("reading it is not permitted")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("it is cut short")
	}
	return nil, err
}

func (a *archive) Close() error {
	if a.closer == nil {
		return nil
	}
	return a.closer.Close()
}

// claims are extensions of pictures. Files of other extensions are recognised
// by their first bytes.
var claims = map[string]bool{
	".jpg": true, ".jpeg": true, ".jpe": true, ".jfif": true, ".png": true, ".gif": true, ".webp": true, ".bmp": true, ".dib": true,
	".tif": true, ".tiff": true, ".heic": true, ".heif": true, ".avif": true, ".jxl": true, // named as unreadable, not passed over
}

// isPicture decides by name, and where that does not promise a picture by the
// first bytes, which head reads.
func isPicture(name string, head func() []byte) bool {
	return claims[strings.ToLower(path.Ext(name))] || formatOf(head()) != nil
}

// cleanName makes a member's name relative, without leaving the archive.
func cleanName(name string) string { return path.Clean("/" + name)[1:] }

// isHidden reports whether a member is no part of the data: a dotfile, nameless,
// or in the shadow folder that macOS adds to zips.
func isHidden(name string) bool {
	if name == "" {
		return true
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") || part == "__MACOSX" {
			return true
		}
	}
	return false
}

// uniqueKeys names members without extension. If two would be equal (a.jpg and
// a.png) the later one keeps its extension; repeated names get a number.
func uniqueKeys(members []member) []string {
	keys := make([]string, len(members))
	taken := make(map[string]bool, len(members))
	for i, m := range members {
		candidates := []string{strings.TrimSuffix(m.name, path.Ext(m.name)), m.name}
		at := slices.IndexFunc(candidates, func(key string) bool { return !taken[key] })
		if at >= 0 {
			keys[i] = candidates[at]
		} else {
			for n := 2; ; n++ {
				keys[i] = fmt.Sprintf("%s#%d", m.name, n)
				if !taken[keys[i]] {
					break
				}
			}
		}
		taken[keys[i]] = true
	}
	return keys
}
