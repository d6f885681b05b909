package prior

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzLabels reads files of labels.
func FuzzLabels(f *testing.F) {
	f.Add("a.png\tcat\nb.png,dog\n")
	f.Add("\xff,\x00\n\n")
	path := filepath.Join(f.TempDir(), "labels.tsv") // of this worker
	f.Fuzz(func(t *testing.T, content string) {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := ReadLabels(path)
		if err != nil {
			return
		}
		for name, class := range l.byName {
			if class == "" {
				t.Errorf("%q has no class", name)
			}
		}
	})
}
