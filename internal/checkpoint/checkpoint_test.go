package checkpoint

import (
	"errors"
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

// Every flipped bit is noticed, and the one before is read then.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 2, 1, 2)
	path := filepath.Join(dir, Newest)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil { // the file may be linked
		t.Fatal(err)
	}
	for i := range content {
		bit := byte(1) << (i % 8)
		content[i] ^= bit
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		content[i] ^= bit
		var p progress
		c, read, damaged, err := Load(dir, 2, &p)
		if err != nil || c == nil || damaged == nil || p.Step != 1 || read != filepath.Join(dir, name(1)) {
			t.Fatalf("byte %d of %d: step %d from %s, damage %v, %v", i, len(content), p.Step, read, damaged, err)
		}
	}
}

// Without hard links, as on vfat, checkpoints rotate all the same.
func TestRotationWithoutHardLinks(t *testing.T) {
	defer func() { link = os.Link }()
	link = func(string, string) error { return errors.New("operation not permitted") }
	dir := t.TempDir()
	save(t, dir, 3, 1, 2, 3, 4)
	for age, want := range []int{4, 3, 2} {
		var p progress
		if c, _, _, err := Load(dir, 3, &p); err != nil || c == nil || p.Step != want {
			t.Fatalf("age %d: step %d, %v", age, p.Step, err)
		}
		if err := os.Remove(filepath.Join(dir, name(age))); err != nil {
			t.Fatal(err)
		}
		if age == 0 && !Exists(dir) {
			t.Error("a run whose newest checkpoint lost its name has none")
		}
	}
	if Exists(dir) {
		t.Error("there are checkpoints where there are none")
	}
}

// A checkpoint that cannot be written leaves those before as they are.
func TestFailedSaveKeepsAll(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 2, 1, 2)
	bad := content(3)
	bad.Variables["a/b"].Data = bad.Variables["a/b"].Data[:5]
	if err := Save(dir, 2, bad); err == nil {
		t.Fatal("an array that does not fit its shape was saved")
	}
	for age, want := range []int{2, 1} {
		var p progress
		if c, _, _, err := Load(dir, 2, &p); err != nil || c == nil || p.Step != want {
			t.Errorf("age %d: step %d, %v", age, p.Step, err)
		}
		os.Remove(filepath.Join(dir, name(age)))
	}
}
