package vectors

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestCreateRefuses(t *testing.T) {
	dir := t.TempDir()
	_, err := Create(filepath.Join(dir, "v.csv"), 3, 1)
	wantError(t, err, "v.csv", ".npy, .parquet, .fvecs")
	_, err = Create(filepath.Join(dir, "v.npy"), 0, 1)
	wantError(t, err, "impossible")
	_, err = Create(filepath.Join(dir, "no", "v.npy"), 3, 1)
	wantError(t, err, "v.npy")
	wantEmptyDir(t, dir)
}

func TestVectorsRoundTrip(t *testing.T) {
	want := offsetValues(2000, 9)
	for _, name := range []string{"v.npy", "v.fvecs", "v.parquet"} {
		v := mustOpen(t, writeVectors(t, name, 9, want), Options{})
		if v.Dim() != 9 || !slices.Equal(allRows(t, v), want) {
			t.Errorf("%s: vectors differ", name)
		}
	}
}

func TestWriteJoinsBlocks(t *testing.T) {
	path, want := filepath.Join(t.TempDir(), "v.npy"), offsetValues(5, 3)
	if err := Write(path, 3, want[:6], want[6:]); err != nil {
		t.Fatal(err)
	}
	if v := mustOpen(t, path, Options{}); v.Dim() != 3 || !slices.Equal(allRows(t, v), want) {
		t.Error("vectors differ")
	}
	wantError(t, Write(path, 3, want[:4]), "v.npy")
}
