// Package gritvq_test checks the repository as a whole.
package gritvq_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/gritvq/gritvq"
	page   = "docs/ARCHITECTURE.md"
)

var update = flag.Bool("update", false, "write the tables of "+page+" from the code")

// goPackage is a package of this module as the go tool sees it.
type goPackage struct {
	ImportPath string
	Doc        string // first sentence of its documentation
	Imports    []string
	Deps       []string
}

// name is the package's path inside the module; the root is the module's name.
func (p goPackage) name() string { return inModule(p.ImportPath) }

func inModule(path string) string {
	if path == module {
		return "gritvq"
	}
	return strings.TrimPrefix(path, module+"/")
}

// builds lists the packages of this module that p imports.
func (p goPackage) builds() []string {
	var names []string
	for _, path := range p.Imports {
		if path == module || strings.HasPrefix(path, module+"/") {
			names = append(names, inModule(path))
		}
	}
	return names
}

// group is the first element of a package's path.
func group(name string) string {
	first, _, _ := strings.Cut(name, "/")
	return first
}

func packages(t *testing.T, patterns ...string) []goPackage {
	t.Helper()
	output, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Doc,Imports,Deps"}, patterns...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// packageTable has a row for every package: its path, its responsibility and
// its imports inside the module.
func packageTable(list []goPackage) string {
	var b strings.Builder
	b.WriteString("| package | responsibility | imports |\n|---|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.name(), strings.TrimSuffix(p.Doc, "."), strings.Join(p.builds(), ", "))
	}
	return b.String()
}

// groupTable has a row for every group of packages and the exact groups that
// it imports.
func groupTable(list []goPackage) string {
	edges := map[string]map[string]bool{}
	for _, p := range list {
		from := group(p.name())
		if edges[from] == nil {
			edges[from] = map[string]bool{}
		}
		for _, name := range p.builds() {
			if to := group(name); to != from {
				edges[from][to] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString("| group | imports |\n|---|---|\n")
	for _, from := range slices.Sorted(maps.Keys(edges)) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", from, strings.Join(slices.Sorted(maps.Keys(edges[from])), ", "))
	}
	return b.String()
}

// The architecture page's tables are those of the code: every package, its
// responsibility, its imports, and the edges between groups. An edge that is
// new is a decision: run go test . -run Architecture -update, and review it.
func TestArchitecturePageIsTheCode(t *testing.T) {
	list := packages(t, "./...")
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for marker, table := range map[string]string{"groups": groupTable(list), "packages": packageTable(list)} {
		before, rest, found := strings.Cut(text, "<!-- "+marker+": begin -->\n")
		old, after, closed := strings.Cut(rest, "<!-- "+marker+": end -->")
		if !found || !closed {
			t.Fatalf("%s has no table of %s", page, marker)
		}
		if old != table && !*update {
			t.Errorf("the table of %s in %s is not that of the code; want\n%s", marker, page, table)
		}
		text = before + "<!-- " + marker + ": begin -->\n" + table + "<!-- " + marker + ": end -->" + after
	}
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// layers lists the groups from the top down. A group imports groups below it
// only; those in one row do not import each other.
var layers = [][]string{
	{"cmd", "bench", "gritvq"},
	{"lab"},
	{"task"},
	{"train", "export"},
	{"artifact", "feature"},
	{"tokenizer", "onnx"},
	{"vq", "codes", "optim"},
	{"transform", "radius", "engine", "dataset", "eval"},
	{"nn", "index"},
	{"weights", "report", "config"},
	{"safetensors"},
}

func TestGroupsImportDownwards(t *testing.T) {
	depth := map[string]int{"internal": len(layers)}
	// of the packages in internal that build on others
	above := map[string]int{"internal/checkpoint": len(layers) - 3, "internal/networktest": len(layers) - 2, "internal/gradtest": 0}
	for i, row := range layers {
		for _, name := range row {
			depth[name] = i
		}
	}
	for _, p := range packages(t, "./...") {
		from := group(p.name())
		at, known := depth[from]
		if !known {
			t.Errorf("package %s belongs to no layer", p.name())
			continue
		}
		if higher, ok := above[p.name()]; ok {
			at = higher
		}
		for _, name := range p.builds() {
			if to := group(name); to != from && depth[to] <= at {
				t.Errorf("%s imports %s, which is not in a layer below it", p.name(), name)
			}
		}
	}
}

// Programs that only use tokenizers link neither the trainer nor the networks
// of the perceptual loss.
func TestInferenceLinksNoTrainer(t *testing.T) {
	for _, p := range packages(t, "./tokenizer/...", "./artifact/...", "./codes/...") {
		for _, path := range p.Deps {
			switch group(inModule(path)) {
			case "train", "optim", "onnx", "feature", "task", "lab":
				if strings.HasPrefix(path, module) {
					t.Errorf("%s depends on %s", p.name(), inModule(path))
				}
			}
		}
	}
}

// goFiles lists the Go files below the root, without hidden folders.
func goFiles(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && len(path) > 1 && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".go") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Files stay short enough to be read in one sitting, and lines to be read at
// all; the command line stays thin.
func TestSizes(t *testing.T) {
	var sizes []int
	var commands, command int
	for _, name := range goFiles(t) {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
		for i, line := range lines {
			if n := len([]rune(line)); n > 140 {
				t.Errorf("%s:%d has %d columns; wrap it at 140", name, i+1, n)
			}
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		sizes = append(sizes, len(lines))
		if len(lines) > 360 {
			t.Errorf("%s has %d lines; split it at 360", name, len(lines))
		}
		if strings.HasPrefix(name, "cmd/") {
			command += len(lines)
			if strings.Contains(string(content), "func New(") {
				commands++
			}
		}
	}
	slices.Sort(sizes)
	if median := sizes[len(sizes)/2]; median > 120 {
		t.Errorf("the median file has %d lines, more than 120", median)
	}
	if command > 170*commands {
		t.Errorf("cmd has %d lines for %d commands, more than 170 each: a workflow belongs in task", command, commands)
	}
}
