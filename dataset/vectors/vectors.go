package vectors

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/gritvq/gritvq/internal/parallel"
	"github.com/gritvq/gritvq/internal/rowfile"
)

// Vectors is a read-only matrix [Len, Dim] of float32 rows behind a file, a
// spool or a generator. All methods are safe for concurrent use.
type Vectors struct {
	path   string
	rows   int
	dim    int
	source rowSource
	handle *handle
	note   string
	closed atomic.Bool
	// dropped holds the source's row numbers this view leaves out, ascending.
	dropped []int

	fingerprintLock sync.Mutex
	fingerprint     string
}

// rowSource produces rows of the underlying matrix.
type rowSource interface {
	ReadRows(start, n int, dst []float32) error
}

// handle counts the Vectors and views of one file; the last one closes it.
type handle struct {
	references atomic.Int32
	closer     io.Closer // nil for generators
}

func newVectors(path string, rows, dim int, source rowSource, closer io.Closer) *Vectors {
	v := &Vectors{path: path, rows: rows, dim: dim, source: source, handle: &handle{closer: closer}}
	v.handle.references.Store(1)
	return v
}

// Len is the number of rows.
func (v *Vectors) Len() int { return v.rows }

// Dim is the number of components of a row.
func (v *Vectors) Dim() int { return v.dim }

// Path is the name the vectors were opened by, with an .npz member if any.
func (v *Vectors) Path() string { return v.path }

// Note says what of the file is not in the vectors, such as columns of text; it
// is empty if all is.
func (v *Vectors) Note() string { return v.note }

// Close releases the file. A view made by DropNonFinite stays usable until it
// is closed too. Closing twice is harmless; reading afterwards is an error.
func (v *Vectors) Close() error {
	if v.closed.Swap(true) || v.handle.references.Add(-1) > 0 || v.handle.closer == nil {
		return nil
	}
	return v.handle.closer.Close()
}

// Rows fills dst [n*Dim] with rows start..start+n. It is an error when the
// rows do not exist, dst has another length, or the file cannot be read.
func (v *Vectors) Rows(start, n int, dst []float32) error {
	if err := v.checkRead(start, n, len(dst)); err != nil {
		return err
	}
	if len(v.dropped) == 0 {
		return v.source.ReadRows(start, n, dst)
	}
	for n > 0 { // one read per run between dropped rows
		first := v.sourceRow(start)
		run := n
		if next := sort.SearchInts(v.dropped, first); next < len(v.dropped) {
			run = min(n, v.dropped[next]-first)
		}
		if err := v.source.ReadRows(first, run, dst[:run*v.dim]); err != nil {
			return err
		}
		start, n, dst = start+run, n-run, dst[run*v.dim:]
	}
	return nil
}

// gatherShare is the least number of rows worth a goroutine in Gather.
const gatherShare = 128

// Gather fills dst [len(rows)*Dim] with the given rows, in the given order,
// reading in parallel when there are many. Errors are as in Rows.
func (v *Vectors) Gather(rows []int, dst []float32) error {
	if len(dst) != len(rows)*v.dim {
		return fmt.Errorf("reading %s: a buffer of %d numbers cannot hold %d rows of %d", v.path, len(dst), len(rows), v.dim)
	}
	workers := min(runtime.GOMAXPROCS(0), (len(rows)+gatherShare-1)/gatherShare)
	if workers <= 1 {
		return v.gatherSerial(rows, dst)
	}
	return parallel.Each(workers, workers, func(w int) error {
		from, to := len(rows)*w/workers, len(rows)*(w+1)/workers
		return v.gatherSerial(rows[from:to], dst[from*v.dim:to*v.dim])
	})
}

func (v *Vectors) gatherSerial(rows []int, dst []float32) error {
	for i, row := range rows {
		part := dst[i*v.dim : (i+1)*v.dim]
		if err := v.checkRead(row, 1, len(part)); err != nil {
			return err
		}
		if err := v.source.ReadRows(v.sourceRow(row), 1, part); err != nil {
			return err
		}
	}
	return nil
}

func (v *Vectors) checkRead(start, n, length int) error {
	if v.closed.Load() {
		return fmt.Errorf("reading %s: %w", v.path, os.ErrClosed)
	}
	return rowfile.CheckRead(v.path, v.rows, v.dim, start, n, length)
}

// sourceRow is the source's number of this view's row: row plus the dropped
// rows before it.
func (v *Vectors) sourceRow(row int) int {
	return row + sort.Search(len(v.dropped), func(k int) bool { return v.dropped[k]-k > row })
}
