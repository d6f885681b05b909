package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"
)

// partial is the codes of a run that may be killed at any time: one line that
// says what the run is of, then a record of a picture's number and its codes for
// each that is done. A record that was cut off is done again.
type partial struct {
	path   string
	file   *os.File
	head   int64 // bytes before the first record
	record int   // bytes of one
	count  int
	next   int // first picture that is not done
}

// openPartial opens the partial file of a run, or starts one. Another run's is
// replaced.
func openPartial(path, identity string, codes int) (*partial, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot keep unfinished codes: %w", err)
	}
	p := &partial{path: path, file: file, record: 4 * (codes + 1)}
	line, err := bufio.NewReader(file).ReadString('\n')
	p.head = int64(len(identity) + 1)
	if err == nil && strings.TrimSuffix(line, "\n") == identity {
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

func (p *partial) begin(identity string) error {
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.WriteAt([]byte(identity+"\n"), 0)
	return err
}

// resume finds the last whole record.
func (p *partial) resume() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	p.count = int((info.Size() - p.head) / int64(p.record))
	if p.count == 0 {
		return nil
	}
	number := make([]byte, 4)
	if _, err := p.file.ReadAt(number, p.at(p.count-1)); err != nil {
		return err
	}
	p.next = int(binary.LittleEndian.Uint32(number)) + 1
	return p.file.Truncate(p.at(p.count))
}

func (p *partial) at(i int) int64 { return p.head + int64(i)*int64(p.record) }

func (p *partial) rows() int { return p.count }

// append adds the codes of pictures and makes them safe.
func (p *partial) append(rows []int, codes []uint32) error {
	each := p.record/4 - 1
	buffer := make([]byte, 0, len(rows)*p.record)
	for i, row := range rows {
		buffer = binary.LittleEndian.AppendUint32(buffer, uint32(row))
		for _, code := range codes[i*each : (i+1)*each] {
			buffer = binary.LittleEndian.AppendUint32(buffer, code)
		}
	}
	if _, err := p.file.WriteAt(buffer, p.at(p.count)); err != nil {
		return fmt.Errorf("keeping unfinished codes: %w", err)
	}
	p.count += len(rows)
	return p.file.Sync()
}

// each visits the records in order.
func (p *partial) each(visit func(row int, codes []uint32) error) error {
	reader := bufio.NewReader(io.NewSectionReader(p.file, p.head, int64(p.count)*int64(p.record)))
	buffer, codes := make([]byte, p.record), make([]uint32, p.record/4-1)
	for range p.count {
		if _, err := io.ReadFull(reader, buffer); err != nil {
			return fmt.Errorf("reading %s: %w", p.path, err)
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

func (p *partial) close() { p.file.Close() }

// remove deletes the file once its content is in its place.
func (p *partial) remove() error {
	p.file.Close()
	return os.Remove(p.path)
}
