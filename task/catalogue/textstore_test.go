package catalogue

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/safetensors"
)

func TestStoredEncoderIsTheSame(t *testing.T) {
	e, err := FitText(titles, 5)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "titles.safetensors")
	if err := e.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := LoadText(path)
	if err != nil {
		t.Fatal(err)
	}
	later := append(slices.Clone(titles), "Argan hair brush", "unheard of")
	if !slices.Equal(e.Encode(later), again.Encode(later)) || again.Dim() != 5 {
		t.Error("the stored encoder gives other vectors")
	}
}

func TestDamagedEncoders(t *testing.T) {
	ones := func(name string, shape ...int) safetensors.Tensor {
		n := 1
		for _, size := range shape {
			n *= size
		}
		return safetensors.FromFloat32(name, shape, slices.Repeat([]float32{1}, n))
	}
	buckets := func(values ...int64) safetensors.Tensor {
		return safetensors.FromInt64("buckets", []int{len(values)}, values)
	}
	for want, list := range map[string][]safetensors.Tensor{
		"buckets":       {ones("axes", 2, 3), ones("rarity", 2)},
		"do not agree":  {ones("axes", 2, 3), ones("rarity", 3), buckets(1, 2)},
		"two words":     {ones("axes", 2, 3), ones("rarity", 2), buckets(1, 1)},
		"has bucket -1": {ones("axes", 2, 3), ones("rarity", 2), buckets(1, -1)},
	} {
		path := filepath.Join(t.TempDir(), "e.safetensors")
		if err := safetensors.Write(path, list, nil); err != nil {
			t.Fatal(err)
		}
		_, err := LoadText(path)
		fails(t, err, want)
	}
}
