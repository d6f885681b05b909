package index

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gritvq/gritvq/internal/atomicfile"
)

// ivfHead is the number of bytes of: lists uint32, probe uint32.
const ivfHead = 8

// Save writes the index to a file: after what files begin with, the numbers of
// lists and of those a search looks into, the centres [lists,d], the list of
// each row [n], and the rows [n,d].
func (f *IVF) Save(path string) error { return atomicfile.Write(path, f.write) }

func (f *IVF) write(to io.Writer) error {
	return writeStorage(to, ivfKind, f.metric, f.n, f.d, func(w *storageWriter) {
		w.uint32(uint32(len(f.lists)))
		w.uint32(uint32(f.probe))
		w.float32s(f.centers.rows)
		w.uint32s(f.list)
		w.float32s(f.rows)
	})
}

// LoadIVF reads a file that Save wrote. It fails on anything else.
func LoadIVF(path string) (*IVF, error) { return loadStorage(path, readIVF) }

func readIVF(from io.Reader, size int64) (*IVF, error) {
	r := newStorageReader(from, size, ivfKind, "IVF")
	count, probe := r.uint32(), r.uint32()
	if r.err == nil && (count == 0 || uint64(count) > uint64(r.rows) || probe == 0 || probe > math.MaxInt32) {
		r.err = fmt.Errorf("the index is damaged: %d lists of %d rows, %d to look into", count, r.rows, probe)
	}
	lists := int(count)
	r.expect(ivfHead, uint64(lists)*uint64(r.d)+uint64(r.rows)*uint64(1+r.d))
	centers, list, rows := r.float32s(lists*r.d), r.uint32s(r.rows), r.float32s(r.rows*r.d)
	if err := r.finish(); err != nil {
		return nil, err
	}
	for _, l := range list {
		if int(l) >= lists {
			return nil, errors.New("the index is damaged: a row is in a list that does not exist")
		}
	}
	f, err := newIVFWith(bestKernel, r.metric, centers, lists, r.d, int(probe))
	if err != nil {
		return nil, fmt.Errorf("the index is damaged: %w", err)
	}
	f.space = newSpace(bestKernel, r.metric, rows, r.rows, r.d)
	if err := f.appendRows(rows, r.rows); err != nil {
		return nil, fmt.Errorf("the index is damaged: %w", err)
	}
	f.file(list)
	return f, nil
}
