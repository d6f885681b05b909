// Package gritvq_test checks the repository as a whole.
package gritvq_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/gritvq/gritvq"

// layers reads the package table of the architecture page, top to bottom.
func layers(t *testing.T) map[string]int {
	t.Helper()
	page, err := os.ReadFile("docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	order := map[string]int{}
	for i, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllSubmatch(page, -1) {
		order[string(row[1])] = i
	}
	if len(order) < 10 {
		t.Fatalf("found only %d packages in the table", len(order))
	}
	return order
}

func TestPackagesImportOnlyWhatIsAboveThem(t *testing.T) {
	order := layers(t)
	output, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&pkg); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name, inside := strings.CutPrefix(pkg.ImportPath, module+"/")
		if !inside {
			continue // the root holds tests only
		}
		seen[name] = true
		layer, listed := order[name]
		if !listed {
			t.Errorf("package %s is missing from the table of docs/ARCHITECTURE.md", name)
			continue
		}
		for _, path := range pkg.Imports {
			imported, inside := strings.CutPrefix(path, module+"/")
			if above, listed := order[imported]; inside && listed && above >= layer {
				t.Errorf("%s imports %s, which is not above it in docs/ARCHITECTURE.md", name, imported)
			}
		}
	}
	for name := range order {
		if !seen[name] {
			t.Errorf("docs/ARCHITECTURE.md lists %s, which is not there", name)
		}
	}
}
