package images

import (
	"fmt"

	"github.com/gritvq/gritvq/dataset"
)

func init() {
	dataset.RegisterSynthetic(dataset.Pictures, dataset.Synthetic{Name: "scenes", Parameters: []dataset.Parameter{
		{Name: "images", Default: 10_000, Most: 1 << 40},
		{Name: "size", Default: 64, Most: 4096},
		dataset.SeedParameter,
	}})
}

// scenes is the built-in set: every picture is drawn when it is asked for.
type scenes struct {
	images, size int
	seed         uint64
}

func openSynthetic(path string) (*scenes, error) {
	_, values, err := dataset.ParseSynthetic(dataset.Pictures, path)
	if err != nil {
		return nil, err
	}
	return &scenes{images: int(values["images"]), size: int(values["size"]), seed: values["seed"]}, nil
}

func (s *scenes) count() int       { return s.images }
func (s *scenes) key(i int) string { return fmt.Sprintf("%06d", i) }
func (s *scenes) Close() error     { return nil }

func (s *scenes) picture(i int) (*RGB, error) { return drawScene(s.seed, i, s.size), nil }
