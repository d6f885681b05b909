package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// The test's own program is a Go program with modules.
func TestDocumentListsModules(t *testing.T) {
	output := filepath.Join(t.TempDir(), "sbom.json")
	if err := write(os.Args[0], output); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(content, &d); err != nil || d.Format != "CycloneDX" || len(d.Metadata.Component.Hashes[0].Content) != 64 {
		t.Errorf("%v, %s", err, content)
	}
	if !strings.HasPrefix(d.Components[0].URL, "pkg:golang/stdlib@1.") {
		t.Errorf("the standard library is %+v", d.Components[0])
	}
	if err := write("main.go", output); err == nil {
		t.Error("a text was described as a program")
	}
}

func TestReplacedModulesAreNamed(t *testing.T) {
	info := &debug.BuildInfo{Path: "a.b/c/cmd/tool", Main: debug.Module{Path: "a.b/c", Version: "v1.2.3"}, GoVersion: "go1.27.3",
		Deps: []*debug.Module{{Path: "d.e/f", Version: "v1.0.0", Sum: "h1:x"},
			{Path: "g.h/i", Replace: &debug.Module{Path: "j.k/l", Version: "v2.0.0"}}}}
	d := describe(info, [32]byte{1})
	if c := d.Metadata.Component; c.Name != "tool" || c.URL != "pkg:golang/a.b/c@v1.2.3" {
		t.Errorf("the program is %+v", c)
	}
	if len(d.Components) != 3 || d.Components[1].URL != "pkg:golang/d.e/f@v1.0.0" || d.Components[2].Name != "j.k/l" {
		t.Errorf("the components are %+v", d.Components)
	}
}
