package picture

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNamesThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"taken.png", "folder.png/x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for want, names := range map[string][]string{
		"":                                        {"a", "b/c", "b/d", "taken", "two\nlines"},
		"picture 0 has the same name":             {"a", "b", "a"},
		"it is no name of a file":                 {"a", "b/../c"},
		"it is no name":                           {"a\x00"},
		"300 bytes are more than the 210":         {strings.Repeat("x", 300)},
		"picture 0 has the name of its folder":    {"a", "a.png/b"},
		"folder.png is a directory":               {"folder"},
		"taken.png is a file and would be a dire": {"taken.png/x"},
	} {
		err := CheckNames(dir, names)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", names, err, want)
		}
	}
	if err := CheckNames("x.tar", []string{"folder", "a"}); err != nil {
		t.Error(err)
	}
	if err := CheckNames("x.tar", []string{"a", "a"}); err == nil {
		t.Error("a tar with two pictures of one name")
	}
}
