package version

import (
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func TestLineNamesVersionGoAndPlatform(t *testing.T) {
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+`).MatchString(String()) {
		t.Errorf("the version is %q", String())
	}
	line := Line()
	for _, part := range []string{CreatedBy(), runtime.Version(), Platform} {
		if !strings.Contains(line, part) {
			t.Errorf("%q does not name %s", line, part)
		}
	}
}
