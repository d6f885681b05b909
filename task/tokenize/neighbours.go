package tokenize

import (
	"bufio"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/usage"
)

// neighbourWriter takes the nearest rows of queries in order.
type neighbourWriter interface {
	// write appends the rows [n,k] of the queries from start on, and their distances.
	write(start int, items []uint32, distances []float32) error
	Commit() error
	Abort()
}

var neighbourFormats = []string{".npy", ".jsonl", ".parquet"}

func checkNeighbours(path string) error {
	if !slices.Contains(neighbourFormats, dataset.Extension(path)) {
		return usage.Errorf("%s has no extension for nearest rows: use %s", path, strings.Join(neighbourFormats, ", "))
	}
	return nil
}

// createNeighbours starts a file by its extension; without a path, neighbours go to f.
func createNeighbours(path string, f *Found) (neighbourWriter, error) {
	if path == "" {
		return &keptNeighbours{f}, nil
	}
	switch dataset.Extension(path) {
	case ".npy":
		return createNeighbourArrays(path, f)
	case ".parquet":
		file, err := atomicfile.Create(path)
		if err != nil {
			return nil, err
		}
		return &neighbourTable{f.K, file, parquet.NewGenericWriter[neighbourRecord](file, parquet.Compression(&parquet.Zstd))}, nil
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &neighbourLines{f.K, file, bufio.NewWriter(file)}, nil
}

func eachNeighbours(start, k int, items []uint32, distances []float32, visit func(Neighbours) error) error {
	for i := range len(items) / k {
		if err := visit(Neighbours{start + i, items[i*k : (i+1)*k], distances[i*k : (i+1)*k]}); err != nil {
			return err
		}
	}
	return nil
}

type keptNeighbours struct{ found *Found }

func (w *keptNeighbours) write(start int, items []uint32, distances []float32) error {
	return eachNeighbours(start, w.found.K, items, distances, func(n Neighbours) error {
		w.found.Neighbours = append(w.found.Neighbours, n)
		return nil
	})
}
func (w *keptNeighbours) Commit() error { return nil }
func (w *keptNeighbours) Abort()        {}

// neighbourArrays are two arrays [queries,k]: row numbers, and distances beside them.
type neighbourArrays struct {
	items     codes.RowWriter
	distances vectors.Writer
}

// DistancesPath is found.distances.npy beside found.npy.
func DistancesPath(output string) string {
	return strings.TrimSuffix(output, filepath.Ext(output)) + ".distances.npy"
}

func createNeighbourArrays(path string, f *Found) (neighbourWriter, error) {
	items, err := codes.Create(path, codes.Content{Vocab: slices.Repeat([]int{f.Rows}, f.K), Rows: f.Queries})
	if err != nil {
		return nil, err
	}
	distances, err := vectors.Create(DistancesPath(path), f.K, f.Queries)
	if err != nil {
		items.Abort()
		return nil, err
	}
	return neighbourArrays{items, distances}, nil
}

func (w neighbourArrays) write(_ int, items []uint32, distances []float32) error {
	if err := w.items.WriteRows(items); err != nil {
		return err
	}
	return w.distances.WriteRows(distances)
}

func (w neighbourArrays) Commit() error {
	if err := w.distances.Commit(); err != nil {
		return err
	}
	return w.items.Commit()
}

func (w neighbourArrays) Abort() {
	w.items.Abort()
	w.distances.Abort()
}

// neighbourLines is a JSON object a line.
type neighbourLines struct {
	k    int
	file *atomicfile.File
	out  *bufio.Writer
}

func (w *neighbourLines) write(start int, items []uint32, distances []float32) error {
	encoder := json.NewEncoder(w.out)
	return eachNeighbours(start, w.k, items, distances, func(n Neighbours) error { return encoder.Encode(n) })
}

func (w *neighbourLines) Commit() error {
	defer w.file.Abort()
	if err := w.out.Flush(); err != nil {
		return err
	}
	return w.file.Commit()
}
func (w *neighbourLines) Abort() { w.file.Abort() }

type neighbourRecord struct {
	Query     int64     `parquet:"query,delta"`
	Rows      []int64   `parquet:"rows,list"`
	Distances []float32 `parquet:"distances,list"`
}

// neighbourTable is a parquet file, a row a query.
type neighbourTable struct {
	k      int
	file   *atomicfile.File
	writer *parquet.GenericWriter[neighbourRecord]
}

func (w *neighbourTable) write(start int, items []uint32, distances []float32) error {
	return eachNeighbours(start, w.k, items, distances, func(n Neighbours) error {
		record := neighbourRecord{Query: int64(n.Query), Distances: n.Distances}
		for _, item := range n.Rows {
			record.Rows = append(record.Rows, int64(item))
		}
		_, err := w.writer.Write([]neighbourRecord{record})
		return err
	})
}

func (w *neighbourTable) Commit() error {
	defer w.file.Abort()
	if err := w.writer.Close(); err != nil {
		return err
	}
	return w.file.Commit()
}
func (w *neighbourTable) Abort() { w.file.Abort() }
