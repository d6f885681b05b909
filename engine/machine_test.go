package engine

import (
	"runtime"
	"strings"
	"testing"

	"github.com/gomlx/compute/support/envutil"
)

// The name tells of vector instructions that the user's environment forbids the engine.
func TestMachine(t *testing.T) {
	name := Machine()
	kind, level, _ := strings.Cut(name, runtime.GOARCH+" ")
	if kind != "go " || level == "" {
		t.Fatalf("the machine is called %q", name)
	}
	if SIMD == (level == "scalar") {
		t.Errorf("level %q, built with vector instructions: %v", level, SIMD)
	}
	t.Setenv(envutil.GoBackendSIMD_AVX512, "off")
	t.Setenv(envutil.GoBackendSIMD_AVX2, "off")
	if got := Machine(); strings.Contains(got, "avx") {
		t.Errorf("without AVX the machine is called %q", got)
	}
}
