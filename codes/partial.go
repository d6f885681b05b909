package codes

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/gritvq/gritvq/internal/filelock"
)

// Partial keeps the codes of an unfinished run, so that the run can resume after
// a kill: one line that identifies the run, then a record of a row number, its
// codes and their CRC-32C for every finished row. From the first record that is cut
// off or damaged on, rows are encoded again. Rows may be left out but not out of
// order. One process has the file at a time.
type Partial struct {
	path   string
	file   *os.File
	head   int64 // bytes before the first record
	record int   // bytes of one
	count  int
	next   int
}

// OpenPartial opens the Partial file of a run, whose rows have the given number
// of codes, or starts one. The file of another run is overwritten.
func OpenPartial(path, identity string, codes int) (*Partial, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot keep unfinished codes: %w", err)
	}
	if err := filelock.TryNamed(file); err != nil {
		file.Close()
		if errors.Is(err, filelock.ErrHeld) {
			err = errors.New("another process writes the same output; wait until it ends, or choose another output")
		}
		return nil, fmt.Errorf("cannot keep unfinished codes in %s: %w", path, err)
	}
	p := &Partial{path: path, file: file, record: 4 * (codes + 2)}
	p.head = int64(len(identity) + 1)
	if KeepsPartial(path, identity) {
		err = p.resume()
	} else {
		err = p.begin(identity)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("cannot keep unfinished codes in %s: %w", path, err)
	}
	return p, nil
}

// KeepsPartial says whether the file at path is the Partial file of a run.
func KeepsPartial(path, identity string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	line := make([]byte, len(identity)+1)
	_, err = io.ReadFull(file, line)
	return err == nil && string(line) == identity+"\n"
}

func (p *Partial) begin(identity string) error {
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.WriteAt([]byte(identity+"\n"), 0)
	return err
}

// resume counts the whole records.
func (p *Partial) resume() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.count = int((info.Size() - p.head) / int64(p.record))
	whole := 0
	err = p.Each(func(row int, _ []uint32) error {
		whole, p.next = whole+1, row+1
		return nil
	})
	if err != nil && !errors.Is(err, errDamagedRecord) {
		return err
	}
	p.count = whole
	return p.file.Truncate(p.at(p.count))
}

var errDamagedRecord = errors.New("a record is damaged")

func (p *Partial) at(i int) int64 { return p.head + int64(i)*int64(p.record) }

// Len is the number of rows that are kept.
func (p *Partial) Len() int { return p.count }

// Next is the first row that has not been visited: one after the last kept row.
func (p *Partial) Next() int { return p.next }

// Append adds the codes [len(rows), codes a row] of rows and syncs the file.
func (p *Partial) Append(rows []int, codes []uint32) error {
	each := p.record/4 - 2
	buffer := make([]byte, 0, len(rows)*p.record)
	for i, row := range rows {
		begin := len(buffer)
		buffer = binary.LittleEndian.AppendUint32(buffer, uint32(row))
		for _, code := range codes[i*each : (i+1)*each] {
			buffer = binary.LittleEndian.AppendUint32(buffer, code)
		}
		buffer = binary.LittleEndian.AppendUint32(buffer, crc32.Checksum(buffer[begin:], castagnoli))
	}
	if _, err := p.file.WriteAt(buffer, p.at(p.count)); err != nil {
		return fmt.Errorf("keeping unfinished codes: %w", err)
	}
	p.count += len(rows)
	return p.file.Sync()
}

// Each visits the rows in order. It fails at a damaged record.
func (p *Partial) Each(visit func(row int, codes []uint32) error) error {
	reader := bufio.NewReader(io.NewSectionReader(p.file, p.head, int64(p.count)*int64(p.record)))
	buffer, codes := make([]byte, p.record), make([]uint32, p.record/4-2)
	for range p.count {
		if _, err := io.ReadFull(reader, buffer); err != nil {
			return fmt.Errorf("reading %s: %w", p.path, err)
		}
		body := buffer[:p.record-checksumBytes]
		if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(buffer[len(body):]) {
			return fmt.Errorf("reading %s: %w", p.path, errDamagedRecord)
		}
		for i := range codes {
			codes[i] = binary.LittleEndian.Uint32(buffer[4*i+4:])
		}
		if err := visit(int(binary.LittleEndian.Uint32(buffer)), codes); err != nil {
			return err
		}
	}
	return nil
}

// Close releases the file and leaves it in place.
func (p *Partial) Close() { p.file.Close() }

// Remove deletes the file, once its content is in its final place.
func (p *Partial) Remove() error {
	err := os.Remove(p.path) // before others can have it
	if p.file.Close(); err != nil {
		err = os.Remove(p.path) // some systems do not remove open files
	}
	return err
}
