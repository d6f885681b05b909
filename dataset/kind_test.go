package dataset_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset"
	_ "github.com/gritvq/gritvq/dataset/images" // readers register their formats
	_ "github.com/gritvq/gritvq/dataset/interactions"
	_ "github.com/gritvq/gritvq/dataset/vectors"
)

func TestKindOf(t *testing.T) {
	for path, want := range map[string]dataset.Kind{
		t.TempDir():                      dataset.Pictures,
		"photos.TAR":                     dataset.Pictures,
		"a/cat.jpeg":                     dataset.Picture,
		"x.npy":                          dataset.Vectors,
		"x.npz:member":                   dataset.Vectors,
		"no extension":                   dataset.Vectors,
		"titles.csv":                     dataset.Items,
		"walks.txt":                      dataset.Interactions,
		"synthetic:manifold?rows=3":      dataset.Vectors,
		"synthetic:scenes":               dataset.Pictures,
		"synthetic:shop?users=3&items=2": dataset.Shop,
		"synthetic:unknown":              dataset.Vectors,
	} {
		if got := dataset.KindOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if !dataset.Picture.IsPictures() || !dataset.Pictures.IsPictures() || dataset.Items.IsPictures() {
		t.Error("IsPictures")
	}
}

func TestName(t *testing.T) {
	for path, want := range map[string]string{
		filepath.Join("a", "b", "x.npy"): "x.npy",
		"synthetic:mixture?rows=1":       "synthetic:mixture?rows=1",
	} {
		if got := dataset.Name(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestParseSynthetic(t *testing.T) {
	name, values, err := dataset.ParseSynthetic(dataset.Vectors, "synthetic:mixture?rows=7&seed=0")
	if err != nil || name != "mixture" || values["rows"] != 7 || values["dim"] != 16 || values["seed"] != 0 {
		t.Errorf("%s %v, %v", name, values, err)
	}
	if got := dataset.SyntheticNames(dataset.Vectors); !slices.Equal(got, []string{"manifold", "mixture"}) {
		t.Errorf("names %v", got)
	}
	for path, want := range map[string]string{
		"mixture":                  `no built-in set of vectors "mixture"; known: manifold, mixture`,
		"synthetic:scenes":         `no built-in set of vectors "scenes"`,
		"synthetic:mixture?rows=0": "rows=0 in synthetic:mixture?rows=0 is impossible: expected a number from 1 to",
		"synthetic:mixture?seed=x": "seed=x in synthetic:mixture?seed=x is impossible: expected a number from 0",
		"synthetic:mixture?x=1":    `synthetic:mixture?x=1 has no parameter "x"; known: rows, dim, seed`,
		"synthetic:mixture?%zz":    "write it as synthetic:mixture?rows=20000&dim=16&seed=1",
	} {
		_, _, err := dataset.ParseSynthetic(dataset.Vectors, path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
}
