package generation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/task"
)

// remarks keeps the remarks of a run.
type remarks struct {
	task.Silent
	all *[]string
}

func (r remarks) Remark(format string, args ...any) {
	*r.all = append(*r.all, fmt.Sprintf(format, args...))
}

// The page has the pictures and the bits of their codes; a second run trains nothing again.
func TestDemo(t *testing.T) {
	o := DemoOptions{Output: filepath.Join(t.TempDir(), "demo"), Data: "synthetic:scenes?images=40&size=16", Size: 16, Steps: 2, PriorSteps: 2,
		Count: 4, Command: "gritvq demo pictures"}
	var said []string
	made, err := Demo(t.Context(), o, remarks{all: &said})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(said, "\n"); strings.Contains(text, "checkpoint") {
		t.Errorf("a first run speaks of resuming: %s", text)
	}
	if made.PSNR <= 0 || made.BitsPerImage <= 0 || made.Neighbour <= 0 || !strings.Contains(made.String(), "this prior: ") {
		t.Errorf("%+v", made)
	}
	page, err := os.ReadFile(made.Report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"neighbours, as in picture files", "bits a picture", o.Command} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(string(page), "data:image/png;base64,"); n != 2 {
		t.Errorf("the page has %d pictures, want 2", n)
	}
	said = nil
	again, err := Demo(t.Context(), o, remarks{all: &said})
	if err != nil || again.BitsPerImage != made.BitsPerImage {
		t.Fatalf("%+v, %v", again, err)
	}
	if !strings.Contains(strings.Join(said, "\n"), "is already finished") {
		t.Errorf("a second run trained again: %q", said)
	}
}
