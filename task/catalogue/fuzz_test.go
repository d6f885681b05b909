package catalogue

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/safetensors"
)

// FuzzText reads encoders of texts and encodes with those that are accepted.
func FuzzText(f *testing.F) {
	encoder, err := FitText([]string{"red shoe", "blue shoe", "red hat", "blue hat 3"}, 2)
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "text.safetensors")
	if err := encoder.Save(path); err != nil {
		f.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := safetensors.Decode(content)
		if err != nil {
			return
		}
		e, err := decodeText(file)
		if err != nil {
			return
		}
		if got := len(e.Encode([]string{"red hat"})); got != e.Dim() {
			t.Errorf("%d numbers of %d", got, e.Dim())
		}
	})
}
