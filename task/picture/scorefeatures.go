package picture

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/fingerprint"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/safetensors"
)

// seenSet is a set of pictures and their features.
type seenSet struct {
	*images.Set
	rows     []int     // of the set, those that can be read
	damaged  int       // pictures that cannot
	features []float32 // [len(rows), dim]; nil without a network
	dim      int
}

// readBatch is the number of pictures decoded at a time.
const readBatch = 64

// see opens pictures and computes their features, or takes them from the cache.
func (s *scoring) see(ctx context.Context, path string, short int, cache string) (*seenSet, error) {
	set, err := Open(ctx, path, images.Options{Size: s.size, Short: short, Workers: s.Workers, Cache: -1}, s.watch)
	if err != nil {
		return nil, err
	}
	seen := &seenSet{Set: set}
	chosen := evenly(set.Len(), s.Images)
	if len(chosen) < set.Len() {
		s.watch.Remark("%d of the %d pictures of %s are used", len(chosen), set.Len(), path)
	}
	file := s.cacheFile(seen, cache, short)
	if seen.load(file, len(chosen)) {
		return seen, nil
	}
	if err := s.look(ctx, seen, chosen); err != nil {
		set.Close()
		return nil, err
	}
	if file != "" {
		if err := seen.store(file); err != nil {
			s.watch.Remark("the features of %s are not kept: %v", path, err)
		}
	}
	return seen, nil
}

// look reads the chosen pictures and computes their features.
func (s *scoring) look(ctx context.Context, seen *seenSet, chosen []int) error {
	line := s.watch.Line(len(chosen), "pictures")
	defer line.Done()
	done := 0
	for rows := range slices.Chunk(chosen, readBatch) {
		if err := ctx.Err(); err != nil {
			return err
		}
		items, kept, err := seen.Read(rows)
		if err != nil {
			return err
		}
		if s.extractor != nil && items.N > 0 {
			features, err := s.extractor.Features(ctx, items.Pixels, items.N, s.size)
			if err != nil {
				return err
			}
			seen.features, seen.dim = append(seen.features, features...), len(features)/items.N
		}
		seen.rows, seen.damaged = append(seen.rows, kept...), seen.damaged+len(rows)-len(kept)
		done += len(rows)
		line.Update(int64(done), "of "+seen.Path()+" seen")
	}
	if len(seen.rows) == 0 {
		return fmt.Errorf("none of the %d pictures of %s could be read", len(chosen), seen.Path())
	}
	return nil
}

// evenly returns at most the given number of rows out of n, evenly spaced; all for 0.
func evenly(n, most int) []int {
	if most == 0 || most > n {
		most = n
	}
	rows := make([]int, most)
	for i := range rows {
		rows[i] = i * n / most
	}
	return rows
}

// cacheFile names the cached features of a set by all that they depend on: the pictures and how they are cut, the
// network's file and the engine. It is "" if nothing is cached.
func (s *scoring) cacheFile(seen *seenSet, dir string, short int) string {
	if dir == "" || s.networks.features == "" {
		return ""
	}
	network, err := memory.ReadFile(s.networks.features)
	if err != nil {
		return ""
	}
	pictures, err := seen.Fingerprint()
	if err != nil {
		return ""
	}
	digest := sha256.Sum256(network)
	h := fingerprint.New()
	for _, text := range []string{"gritvq features 1", pictures, hex.EncodeToString(digest[:]), s.backend} {
		h.Text(text)
	}
	for _, n := range []int{s.size, short, s.Images} {
		h.Number(uint64(n))
	}
	return filepath.Join(dir, h.String()+".safetensors")
}

func (seen *seenSet) store(file string) error {
	if err := output.MakeDir(filepath.Dir(file)); err != nil {
		return err
	}
	rows := make([]int64, len(seen.rows))
	for i, row := range seen.rows {
		rows[i] = int64(row)
	}
	return safetensors.Write(file, []safetensors.Tensor{
		safetensors.FromFloat32("features", []int{len(rows), seen.dim}, seen.features),
		safetensors.FromInt64("rows", []int{len(rows)}, rows),
	}, nil)
}

// load reads stored features of the given number of pictures; a file that is absent or damaged has none.
func (seen *seenSet) load(path string, pictures int) bool {
	if path == "" {
		return false
	}
	file, err := safetensors.Read(path)
	if err != nil {
		return false
	}
	features, err := file.Get("features")
	if err != nil || len(features.Shape) != 2 {
		return false
	}
	stored, err := file.Get("rows")
	if err != nil || len(stored.Shape) != 1 || stored.Shape[0] != features.Shape[0] {
		return false
	}
	rows, err := stored.Int64()
	if err != nil || len(rows) == 0 || rows[len(rows)-1] >= int64(seen.Len()) {
		return false
	}
	if seen.features, err = features.Float32(); err != nil {
		return false
	}
	for _, row := range rows {
		seen.rows = append(seen.rows, int(row))
	}
	seen.dim, seen.damaged = features.Shape[1], pictures-len(rows)
	return true
}
