package checkpoint

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/gritvq/gritvq/weights"
)

type progress struct {
	Step int `json:"step"`
}

func content(step int) Content {
	return Content{State: progress{step}, Variables: weights.Set{"a/b": weights.Full(float32(step), 2, 3)},
		Best: weights.Set{"a/b": weights.Full(-1, 2, 3)}}
}

func save(t *testing.T, dir string, keep int, steps ...int) {
	t.Helper()
	for _, step := range steps {
		if err := Save(dir, keep, content(step)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 1, 5)
	var p progress
	c, path, damaged, err := Load(dir, 1, &p)
	if err != nil || damaged != nil {
		t.Fatal(err, damaged)
	}
	want := content(5)
	if p.Step != 5 || path != filepath.Join(dir, Newest) ||
		!reflect.DeepEqual(c.Variables, want.Variables) || !reflect.DeepEqual(c.Best, want.Best) {
		t.Errorf("read %+v of step %d from %s", c, p.Step, path)
	}
}

func TestNoCheckpoint(t *testing.T) {
	var p progress
	if c, _, damaged, err := Load(t.TempDir(), 3, &p); c != nil || damaged != nil || err != nil {
		t.Errorf("an empty directory gave %v, %v, %v", c, damaged, err)
	}
}

// So many are kept; where newer ones are damaged the next is read, and the reason
// is told; where all are it is the error.
func TestDamagedOnesArePassedOver(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 3, 1, 2, 3, 4, 5)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%q are kept (%v), want three", files, err)
	}
	for age, want := range []int{5, 4, 3} {
		var p progress
		c, _, damaged, err := Load(dir, 3, &p)
		if err != nil || c == nil || p.Step != want || (damaged == nil) != (age == 0) {
			t.Fatalf("with %d damaged: step %d, damage %v, error %v", age, p.Step, damaged, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name(age)), []byte("cut off"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var p progress
	if c, _, _, err := Load(dir, 3, &p); err == nil || c != nil {
		t.Errorf("three damaged checkpoints gave %v and %v", c, err)
	}
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

// A checkpoint is the same bytes whenever it is written.
func TestBytesAreStable(t *testing.T) {
	var all [][]byte
	for range 5 {
		dir := t.TempDir()
		save(t, dir, 1, 9)
		bytes, err := os.ReadFile(filepath.Join(dir, Newest))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes)
	}
	for _, bytes := range all[1:] {
		if !reflect.DeepEqual(bytes, all[0]) {
			t.Fatal("equal contents were written differently")
		}
	}
}
