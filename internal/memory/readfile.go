package memory

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// endless is more than anything that is read whole from a pipe or a device, which tell no size.
const endless = 64 << 20

// ReadFile is [os.ReadFile] for files whose size nobody has checked: it fails on those that do not fit into memory, and on
// pipes and devices that go on and on.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return os.ReadFile(path) // for its error
	}
	if info.Mode().IsRegular() {
		if err := Check("the file "+path, int(info.Size())); err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, endless))
	if err == nil && len(content) == endless {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("it is no regular file and goes on after %s", Text(endless))}
	}
	return content, err
}
