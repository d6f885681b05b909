package gritvq_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/fit"
)

// Every published configuration is complete and valid for this version.
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
	}
}
