package index

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// The files of IVF and HNSW are little-endian and begin alike:
//
//	"GVQI", version uint16, kind uint8, metric uint8, rows uint64, d uint32
//
// What follows depends on the kind. The last four bytes are the CRC-32C of
// everything before them.
const (
	storageMagic   = "GVQI"
	storageVersion = 1
	storageHeader  = 4 + 2 + 1 + 1 + 8 + 4
	storageSum     = 4
	// storageChunk is the number of values converted at a time.
	storageChunk = 1 << 14
)

// storageKind says which index a file holds.
type storageKind uint8

const (
	ivfKind storageKind = 1 + iota
	hnswKind
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// storageWriter writes the parts of a file and remembers the first error.
type storageWriter struct {
	to   io.Writer
	sum  hash.Hash32
	room []byte
	err  error
}

// writeStorage writes a file whose middle comes from fill.
func writeStorage(to io.Writer, kind storageKind, metric Metric, rows, d int, fill func(w *storageWriter)) error {
	w := &storageWriter{to: to, sum: crc32.New(castagnoli), room: make([]byte, 0, 4*storageChunk)}
	w.write([]byte(storageMagic))
	w.write(binary.LittleEndian.AppendUint16(nil, storageVersion))
	w.write([]byte{byte(kind), byte(metric)})
	w.uint64(uint64(rows))
	w.uint32(uint32(d))
	fill(w)
	w.uint32(w.sum.Sum32())
	return w.err
}

func (w *storageWriter) write(p []byte) {
	if w.err == nil {
		w.sum.Write(p)
		_, w.err = w.to.Write(p)
	}
}

func (w *storageWriter) uint32(v uint32) { w.write(binary.LittleEndian.AppendUint32(nil, v)) }
func (w *storageWriter) uint64(v uint64) { w.write(binary.LittleEndian.AppendUint64(nil, v)) }

func (w *storageWriter) uint32s(values []uint32) {
	for len(values) > 0 {
		n := min(len(values), storageChunk)
		w.room = w.room[:0]
		for _, v := range values[:n] {
			w.room = binary.LittleEndian.AppendUint32(w.room, v)
		}
		w.write(w.room)
		values = values[n:]
	}
}

func (w *storageWriter) float32s(values []float32) {
	for len(values) > 0 {
		n := min(len(values), storageChunk)
		w.room = w.room[:0]
		for _, v := range values[:n] {
			w.room = binary.LittleEndian.AppendUint32(w.room, math.Float32bits(v))
		}
		w.write(w.room)
		values = values[n:]
	}
}

// storageReader reads the parts of a file and remembers the first error. After
// an error every number is 0 and every slice empty.
type storageReader struct {
	from   *bufio.Reader
	sum    hash.Hash32
	size   int64 // of the file
	room   []byte
	err    error
	metric Metric
	rows   int
	d      int
}

// loadStorage reads the file at path through parse.
func loadStorage[T any](path string, parse func(r io.Reader, size int64) (T, error)) (T, error) {
	var none T
	file, err := os.Open(path)
	if err != nil {
		return none, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return none, err
	}
	index, err := parse(file, info.Size())
	if err != nil {
		return none, fmt.Errorf("%s: %w", path, err)
	}
	return index, nil
}

// newStorageReader reads what files begin with.
func newStorageReader(from io.Reader, size int64, kind storageKind, name string) *storageReader {
	r := &storageReader{from: bufio.NewReaderSize(from, 1<<16), sum: crc32.New(castagnoli), size: size, room: make([]byte, 4*storageChunk)}
	header := make([]byte, storageHeader)
	if size < storageHeader+storageSum {
		r.err = fmt.Errorf("not an index: %d bytes are less than a header", size)
		return r
	}
	r.read(header)
	version, metric := binary.LittleEndian.Uint16(header[4:]), Metric(header[7])
	rows, d := binary.LittleEndian.Uint64(header[8:]), binary.LittleEndian.Uint32(header[16:])
	switch {
	case r.err != nil:
	case string(header[:4]) != storageMagic:
		r.err = fmt.Errorf("not an index: it does not start with %s", storageMagic)
	case version != storageVersion:
		r.err = fmt.Errorf("the index has format version %d, this program reads %d: build it again", version, storageVersion)
	case storageKind(header[6]) != kind:
		r.err = fmt.Errorf("the index is of kind %d, not %s", header[6], name)
	case metric.check() != nil:
		r.err = fmt.Errorf("the index is damaged: %w", metric.check())
	case rows == 0 || rows > math.MaxInt32 || d == 0 || d > math.MaxInt32:
		r.err = fmt.Errorf("the index is damaged: its shape is [%d,%d]", rows, d)
	}
	r.metric, r.rows, r.d = metric, int(rows), int(d)
	return r
}

// expect fails unless the file has the size of its header, the rest of the head
// and a number of 4-byte values. It keeps a damaged header from asking for more
// memory than the file has bytes.
func (r *storageReader) expect(head int64, values uint64) {
	want := uint64(storageHeader+head+storageSum) + 4*values
	if r.err == nil && (values > math.MaxInt64/8 || want != uint64(r.size)) {
		r.err = fmt.Errorf("the index is damaged: it has %d bytes, and should have %d", r.size, want)
	}
}

func (r *storageReader) read(p []byte) {
	if r.err != nil {
		return
	}
	if _, err := io.ReadFull(r.from, p); err != nil {
		r.err = fmt.Errorf("the index ends too early: %w", err)
		return
	}
	r.sum.Write(p)
}

func (r *storageReader) uint32() uint32 {
	var b [4]byte
	r.read(b[:])
	return binary.LittleEndian.Uint32(b[:])
}

func (r *storageReader) uint64() uint64 {
	var b [8]byte
	r.read(b[:])
	return binary.LittleEndian.Uint64(b[:])
}

// uint32s reads n numbers.
func (r *storageReader) uint32s(n int) []uint32 {
	if r.err != nil {
		return nil
	}
	out := make([]uint32, n)
	for rest := out; len(rest) > 0; {
		part := rest[:min(len(rest), storageChunk)]
		r.read(r.room[:4*len(part)])
		for i := range part {
			part[i] = binary.LittleEndian.Uint32(r.room[4*i:])
		}
		rest = rest[len(part):]
	}
	return out
}

// float32s reads n numbers.
func (r *storageReader) float32s(n int) []float32 {
	words := r.uint32s(n)
	if r.err != nil {
		return nil
	}
	out := make([]float32, n)
	for i, bits := range words {
		out[i] = math.Float32frombits(bits)
	}
	return out
}

// finish checks the checksum and returns the first error.
func (r *storageReader) finish() error {
	want := r.sum.Sum32()
	if got := r.uint32(); r.err == nil && got != want {
		r.err = errors.New("the index is damaged: its checksum does not match")
	}
	return r.err
}
