package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/rowfile"
)

// readIDs reads whole numbers, one a vector: an .npy array of int64 or int32, or a line each.
func readIDs(path string, vectors int) ([]int64, error) {
	content, err := memory.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the IDs: %w", err)
	}
	read := readLines
	if dataset.Extension(path) == ".npy" {
		read = readArray
	}
	ids, err := read(path, content)
	if err == nil && len(ids) != vectors {
		err = fmt.Errorf("%s has %d IDs for %d vectors", path, len(ids), vectors)
	}
	return ids, err
}

func readLines(path string, content []byte) (ids []int64, err error) {
	for i, line := range bytes.Split(bytes.TrimSpace(content), []byte("\n")) {
		id, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d of %s is %q; FAISS needs a whole number", i+1, path, line)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func readArray(path string, content []byte) (ids []int64, err error) {
	h, err := rowfile.ReadNPYHeader(path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	size := map[string]int{"<i8": 8, "<i4": 4}[h.Descr]
	if size == 0 || len(h.Shape) != 1 {
		return nil, fmt.Errorf("%s has type %q and shape %v; FAISS needs one row of int64", path, h.Descr, h.Shape)
	}
	data := content[h.Offset:]
	if len(data) != size*h.Shape[0] {
		return nil, fmt.Errorf("%s is truncated or damaged: it has %d bytes of numbers, its header says %d", path, len(data), size*h.Shape[0])
	}
	for ; len(data) > 0; data = data[size:] {
		if size == 8 {
			ids = append(ids, int64(binary.LittleEndian.Uint64(data)))
		} else {
			ids = append(ids, int64(int32(binary.LittleEndian.Uint32(data))))
		}
	}
	return ids, nil
}
