package vectors

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/dataset/vectors"
)

// testShare of the rows is looked at once; choices are made on the others.
const (
	testShare = 0.1
	splitSeed = 16
	folds     = 100 // groups of test rows, for standard errors
)

// split is a data set in two parts.
type split struct {
	dim         int
	train, test []float32
	fold        []int // [test rows] group of each
}

// source is a data set: paths below the data directory or built-in, one after the other.
type source struct {
	name, title string
	paths       []string
	patch       int // side of the patches that pictures are cut into; 0: rows of vectors
}

var sources = []source{
	{name: "beauty", title: "Beauty", paths: []string{"recsys/amazon-beauty/item_text_use512.npy"}},
	{name: "sports", title: "Sports", paths: []string{"recsys/amazon-sports/item_text_use512.npy"}},
	{name: "toys", title: "Toys", paths: []string{"recsys/amazon-toys/item_text_use512.npy"}},
	{name: "union", title: "all three", paths: []string{"recsys/amazon-beauty/item_text_use512.npy",
		"recsys/amazon-sports/item_text_use512.npy", "recsys/amazon-toys/item_text_use512.npy"}},
	{name: "ml-1m", title: "MovieLens", paths: []string{"recsys/ml-1m/item_text_use512.npy"}},
	{name: "patches", title: "patches", paths: []string{"images/imagenet-256-val.tar"}, patch: 8},
	{name: "manifold", title: "manifold", paths: []string{"synthetic:manifold?rows=12000&dim=64"}},
	{name: "mixture", title: "mixture", paths: []string{"synthetic:mixture?rows=12000&dim=32"}},
}

// SetNames lists the data sets.
func SetNames() []string {
	var names []string
	for _, s := range sources {
		names = append(names, s.name)
	}
	return names
}

func sourceNamed(name string) (source, error) {
	i := slices.IndexFunc(sources, func(s source) bool { return s.name == name })
	if i < 0 {
		return source{}, fmt.Errorf("unknown data set %q, use some of %v", name, SetNames())
	}
	return sources[i], nil
}

func (s source) open(ctx context.Context, dir string) (split, error) {
	if s.patch > 0 {
		return s.openPatches(ctx, filepath.Join(dir, s.paths[0]))
	}
	var out split
	var all []float32
	for _, path := range s.paths {
		if !strings.HasPrefix(path, "synthetic:") {
			path = filepath.Join(dir, path)
		}
		v, err := vectors.Open(ctx, path, vectors.Options{})
		if err != nil {
			return out, err
		}
		rows := make([]float32, v.Len()*v.Dim())
		err = v.Rows(0, v.Len(), rows)
		v.Close()
		if err != nil {
			return out, err
		}
		out.dim, all = v.Dim(), append(all, rows...)
	}
	train, test := dataset.Split(len(all)/out.dim, testShare, splitSeed)
	for i := range train.Len() {
		out.train = append(out.train, all[train.At(i)*out.dim:(train.At(i)+1)*out.dim]...)
	}
	for i := range test.Len() {
		out.test = append(out.test, all[test.At(i)*out.dim:(test.At(i)+1)*out.dim]...)
		out.fold = append(out.fold, i*folds/test.Len())
	}
	return out, nil
}

// openPatches cuts pictures into squares with values in -1 to 1. The last tenth of the
// pictures is for the test; a picture is a fold, since its patches are alike.
func (s source) openPatches(ctx context.Context, path string) (split, error) {
	const size = 256
	out := split{dim: 3 * s.patch * s.patch}
	set, err := images.Open(ctx, path, images.Options{Size: size, Short: size})
	if err != nil {
		return out, err
	}
	defer set.Close()
	last := set.Len() - int(testShare*float64(set.Len())+0.999)
	pixels := make([]uint8, 3*size*size)
	for picture := range set.Len() {
		if damaged, err := set.Centre([]int{picture}, pixels); err != nil || len(damaged) > 0 {
			return out, fmt.Errorf("%s: picture %d cannot be read: %w", path, picture, err)
		}
		into := &out.train
		if picture >= last {
			into = &out.test
		}
		for y := 0; y < size; y += s.patch {
			for x := 0; x < size; x += s.patch {
				for line := range s.patch {
					from := 3 * ((y+line)*size + x)
					for _, v := range pixels[from : from+3*s.patch] {
						*into = append(*into, float32(v)/127.5-1)
					}
				}
				if picture >= last {
					out.fold = append(out.fold, picture-last)
				}
			}
		}
	}
	return out, nil
}
