// Command sbom writes the bill of materials of a Go program, from its own build information, as a CycloneDX document: go run
// ./internal/sbom PROGRAM OUTPUT.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM OUTPUT")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// The parts of a CycloneDX document that are filled.
type (
	document struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version,omitempty"`
		URL        string     `json:"purl"`
		Hashes     []hash     `json:"hashes,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	hash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

func write(program, output string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(describe(info, sha256.Sum256(content)), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(output, append(text, '\n'), 0o644)
}

// describe is the document of a program.
func describe(info *debug.BuildInfo, sum [sha256.Size]byte) document {
	program := module("application", info.Main.Path, info.Main.Version)
	program.Name = path.Base(info.Path)
	program.Hashes = []hash{{"SHA-256", fmt.Sprintf("%x", sum)}}
	for _, s := range info.Settings {
		program.Properties = append(program.Properties, property{"gritvq:build:" + s.Key, s.Value})
	}
	d := document{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{program}}
	d.Components = []component{module("library", "stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module("library", m.Path, m.Version)
		if m.Sum != "" {
			c.Properties = []property{{"gritvq:go.sum", m.Sum}}
		}
		d.Components = append(d.Components, c)
	}
	return d
}

func module(kind, name, version string) component {
	url := "pkg:golang/" + name + "@" + version
	return component{Type: kind, Ref: url, Name: name, Version: version, URL: url}
}
