package gritvq_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A module of its own registers a quantizer and compares it with built-in ones.
func TestCustomQuantizer(t *testing.T) {
	command := exec.CommandContext(t.Context(), "go", "run", ".")
	command.Dir = "examples/customquantizer"
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, problems.String(), out)
	}
	for _, method := range []string{"grit", "ema", "scattered"} {
		// The name, 10 bits, and an error between coding perfectly and not at all.
		if !regexp.MustCompile(`(?m)^` + method + ` +10 +0\.[0-9]+ `).Match(out) {
			t.Errorf("the table has no row of %s:\n%s", method, out)
		}
	}
	if !regexp.MustCompile(`(?m)^method +bits +error `).Match(out) {
		t.Errorf("the table has no head:\n%s", out)
	}
}
