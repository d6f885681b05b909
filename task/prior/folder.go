package prior

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/task/picture"
)

// folder is a destination with a file for every picture, written as soon as it is drawn.
type folder struct {
	path string
	out  *picture.Output
}

// numberedPicture is the name of a file in a folder of samples.
var numberedPicture = regexp.MustCompile(`^\d{6,}\.png$`)

func (*folder) pictures() bool { return true }

func (f *folder) unfinished() string { return filepath.Join(f.path, ".samples.partial") }

func (f *folder) open(identity string, tokens int, force bool) (kept *codes.Partial, err error) {
	if f.out, err = picture.Create(f.path, 0); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.out.Abort()
		}
	}()
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", f.path, err)
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return e.Name() == output.LockFile })
	if len(entries) > 0 && (force || !codes.KeepsPartial(f.unfinished(), identity)) {
		if !force {
			what := "files"
			if output.Present(f.unfinished()) {
				what = "unfinished samples of other settings"
			}
			return nil, fmt.Errorf("%s holds %s; name another folder, or --force to replace its numbered pictures", f.path, what)
		}
		if err := f.clear(entries); err != nil {
			return nil, err
		}
	}
	atomicfile.Sweep(f.path)
	return codes.OpenPartial(f.unfinished(), identity, tokens)
}

// clear removes numbered pictures and the record of an unfinished run.
func (f *folder) clear(entries []os.DirEntry) error {
	for _, e := range entries {
		path := filepath.Join(f.path, e.Name())
		if !numberedPicture.MatchString(e.Name()) && path != f.unfinished() {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("cannot replace the samples in %s: %w", f.path, err)
		}
	}
	return nil
}

func (f *folder) drawn(ctx context.Context, s *sampling, rows []int, codes []uint32) error {
	return s.decode(ctx, rows, codes, f.add)
}

func (f *folder) add(i int, p *images.RGB) error { return f.out.Add(numbered(i), p) }

// finish draws the pictures that a run before recorded and could not write.
func (f *folder) finish(ctx context.Context, s *sampling, kept *codes.Partial) (string, error) {
	missing := func(row int) bool { return !output.Present(filepath.Join(f.path, numbered(row)+".png")) }
	return s.described(), s.decodeKept(ctx, kept, missing, f.add)
}

func (f *folder) leave(kept *codes.Partial) {
	if kept.Close(); kept.Len() == 0 {
		os.Remove(f.unfinished())
	}
	f.out.Abort()
}
