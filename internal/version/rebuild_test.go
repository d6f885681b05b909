package version

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestInstallation(t *testing.T) {
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Path: "github.com/gritvq/gritvq/cmd/gritvq", Main: debug.Module{Version: version}, Settings: settings}
	}
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		arch string
		want []string
		err  string
	}{
		"released": {build("v0.1.0"), "amd64", []string{"install", "github.com/gritvq/gritvq/cmd/gritvq@v0.1.0"}, ""},
		"with tags": {build("v0.1.0", debug.BuildSetting{Key: "-tags", Value: "xla"}), "amd64",
			[]string{"install", "-tags", "xla", "github.com/gritvq/gritvq/cmd/gritvq@v0.1.0"}, ""},
		"development":  {build("(devel)"), "amd64", nil, "development version"},
		"checkout":     {build("v0.0.0-20260101", debug.BuildSetting{Key: "vcs.revision", Value: "abc"}), "amd64", nil, "development version"},
		"another arch": {build("v0.1.0"), "arm64", nil, "no vector kernels for arm64"},
	} {
		got, err := installation(test.info, test.arch)
		if !slices.Equal(got, test.want) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// The test binary is a development version: nothing is run.
func TestRebuildOfADevelopmentVersion(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\necho ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	var out bytes.Buffer
	if _, err := Rebuild(t.Context(), &out); err == nil || !strings.Contains(err.Error(), "go build ./cmd/gritvq") || out.Len() > 0 {
		t.Errorf("%v, output %q", err, out.String())
	}
}

// A released version is installed beside the running program, with vector kernels.
func TestInstallRunsGo(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"$GOEXPERIMENT $GOBIN $*\"\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	var out bytes.Buffer
	program, err := install(t.Context(), []string{"install", "a@v1"}, "/opt/bin/gritvq", &out)
	if err != nil || program != "/opt/bin/gritvq" || out.String() != "simd /opt/bin install a@v1\n" {
		t.Errorf("%q, %v, output %q", program, err, out.String())
	}
	t.Setenv("PATH", t.TempDir())
	if _, err := install(t.Context(), []string{"install", "a@v1"}, "/opt/bin/gritvq", &out); err == nil ||
		!strings.Contains(err.Error(), "no go command") || !strings.Contains(err.Error(), "GOEXPERIMENT=simd go install a@v1") {
		t.Errorf("without go: %v", err)
	}
}
