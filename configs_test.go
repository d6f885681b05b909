package gritvq_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/fit"
)

// Every published configuration is complete and valid for this version, and its
// head says the command and where the result is.
func TestConfigsAreValid(t *testing.T) {
	files, err := filepath.Glob("configs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configurations found: %v", err)
	}
	for _, file := range files {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(document), "\nseed:")
		for _, want := range []string{"gritvq train ", "--config " + filepath.ToSlash(file), "results/"} {
			if !strings.Contains(head, want) {
				t.Errorf("the head of %s does not say %q", file, want)
			}
		}
		var c fit.Config // nothing is filled in: the file must say it all
		if err := config.Decode(document, &c); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := c.Quantizer.Validate(max(1, c.Model.Dim)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if c.Model.Pictures() {
			if _, err := c.Tokenizer(c.Model.Image.Input()); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
