package prior

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/task/picture"
)

// folder is a destination with a file for every picture, written as soon as it is drawn.
type folder struct {
	path string
	made bool // by this run
	out  *picture.Output
}

// numberedPicture is the name of a file in a folder of samples.
var numberedPicture = regexp.MustCompile(`^\d{6,}\.png$`)

func (*folder) pictures() bool { return true }

func (f *folder) unfinished() string { return filepath.Join(f.path, ".samples.partial") }

func (f *folder) open(identity string, tokens int, force bool) (*codes.Partial, error) {
	entries, err := os.ReadDir(f.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read %s: %w", f.path, err)
	}
	f.made = err != nil
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
	if f.out, err = picture.Create(f.path, 0); err != nil {
		return nil, err
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
	if kept.Close(); kept.Len() > 0 {
		return
	}
	os.Remove(f.unfinished())
	if f.made {
		os.Remove(f.path) // only if empty
	}
}
