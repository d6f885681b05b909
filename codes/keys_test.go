package codes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestKeysOfAnyName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "codes.npy")
	if keys, err := ReadKeys(path, 2); keys != nil || err != nil {
		t.Errorf("no file gave %q, %v", keys, err)
	}
	want := []string{"a", "b/c d.jpg", "two\nlines", `"quoted"`, `back\slash`, "tab\tand\rreturn", "", "\xff\xfe", "\xff\n"}
	if err := WriteKeys(path, want); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadKeys(path, len(want)); err != nil || !slices.Equal(got, want) {
		t.Errorf("read %q, %v", got, err)
	}
	for content, problem := range map[string]string{"a\n": "it names 1 rows, " + path + " holds 2", "a\n\"b\n": "line 2 is quoted wrongly"} {
		if err := os.WriteFile(KeysPath(path), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKeys(path, 2); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("a\nb/c\n\"d\\n\"\n")
	f.Add("\"\n")
	path := filepath.Join(f.TempDir(), "x.npy") // of this worker
	f.Fuzz(func(t *testing.T, content string) {
		keys, err := parseKeys(content)
		if err != nil || len(keys) == 0 {
			return
		}
		if err := WriteKeys(path, keys); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadKeys(path, len(keys)); err != nil || !slices.Equal(again, keys) {
			t.Errorf("%q became %q, %v", keys, again, err)
		}
	})
}
