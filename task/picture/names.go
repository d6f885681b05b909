package picture

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gritvq/gritvq/dataset"
)

// longestName bounds the parts of a name in bytes: file systems take 255, with the extension and the ending of a
// temporary file.
const longestName = 210

// CheckNames reports the first name, a path without an extension, under which a picture cannot be written to an output,
// so that nothing is written before it fails.
func CheckNames(output string, names []string) error {
	if dataset.Extension(output) == ".png" {
		return nil // it has a name
	}
	files, folders := make(map[string]int, len(names)), map[string]int{}
	for i, name := range names {
		refuse := func(why string, args ...any) error {
			return fmt.Errorf("picture %d cannot be written as %q: %s", i, name+".png", fmt.Sprintf(why, args...))
		}
		if other, taken := files[name]; taken {
			return refuse("picture %d has the same name", other)
		}
		files[name] = i
		parts := strings.Split(name, "/")
		for k, part := range parts {
			if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
				return refuse("it is no name of a file")
			}
			if len(part) > longestName {
				return refuse("%d bytes are more than the %d of a name", len(part), longestName)
			}
			if k > 0 {
				folders[strings.Join(parts[:k], "/")] = i
			}
		}
	}
	for folder, i := range folders {
		if file, ok := strings.CutSuffix(folder, ".png"); ok {
			if other, taken := files[file]; taken {
				return fmt.Errorf("picture %d cannot be written as %q: picture %d has the name of its folder", i, names[i]+".png", other)
			}
		}
	}
	if dataset.Extension(output) == ".tar" {
		return nil
	}
	for name := range files {
		path := filepath.Join(output, filepath.FromSlash(name)+".png")
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("%s is a directory; choose another place", path)
		}
	}
	for name := range folders {
		path := filepath.Join(output, filepath.FromSlash(name))
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file and would be a directory; choose another place", path)
		}
	}
	return nil
}
