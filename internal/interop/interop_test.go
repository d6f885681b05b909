package interop

import (
	"slices"
	"strings"
	"testing"
)

func TestFindSkipsWithoutTheModule(t *testing.T) {
	t.Setenv("GRITVQ_INTEROP", "")
	var skipped bool
	t.Run("inner", func(t *testing.T) {
		t.Cleanup(func() { skipped = t.Skipped() })
		Find(t, "gritvq_has_no_such_module")
	})
	if !skipped {
		t.Error("a test without its module was run")
	}
}

func TestRunGivesWhatAProgramPrints(t *testing.T) {
	p := Find(t)
	output := p.Run(t, t.TempDir(), "import sys; print(*sys.argv[1:])", "a", "b")
	if got := strings.Fields(string(output)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("printed %q", got)
	}
}
