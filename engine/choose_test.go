package engine

import (
	"errors"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/usage"
)

func TestBackendNames(t *testing.T) {
	for value, want := range map[string]string{"tpu": `unknown backend "tpu"`, "go:fast": "takes no options", "": `unknown backend ""`} {
		_, err := Choose(value)
		if _, usage := errors.AsType[usage.Error](err); !usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v", value, err)
		}
	}
	if _, err := Choose("xla"); !XLA && (err == nil || !strings.Contains(err.Error(), "-tags xla")) {
		t.Errorf("xla gave %v", err)
	}
}
