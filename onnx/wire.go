package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// The wire types of protocol buffers that ONNX files use.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// field is one field of a message: a varint in value, or bytes.
type field struct {
	number int
	wire   int
	value  uint64
	bytes  []byte
}

// schema says how the fields of a message are read, by number; others are skipped.
type schema map[int]func(f field) error

// into reads a field into a variable.
func into[T any](read func(f field, into *T) error, to *T) func(f field) error {
	return func(f field) error { return read(f, to) }
}

// nested reads a field that is a message.
func nested(decode func(message []byte) error) func(f field) error {
	return func(f field) error {
		if f.wire != wireBytes {
			return fmt.Errorf("field %d should be a message", f.number)
		}
		return decode(f.bytes)
	}
}

// read reads the fields of a message.
func (s schema) read(message []byte) error {
	for len(message) > 0 {
		key, n := binary.Uvarint(message)
		if n <= 0 {
			return errors.New("truncated, or not a protocol buffer")
		}
		message = message[n:]
		if key>>3 == 0 || key>>3 > math.MaxInt32 {
			return fmt.Errorf("field number %d is not one of a protocol buffer", key>>3)
		}
		f := field{number: int(key >> 3), wire: int(key & 7)}
		size := 0
		switch f.wire {
		case wireVarint:
			f.value, size = binary.Uvarint(message)
		case wireFixed64:
			size = 8
		case wireFixed32:
			size = 4
		case wireBytes:
			length, n := binary.Uvarint(message)
			if n > 0 && length <= uint64(len(message)-n) {
				size = n + int(length)
				f.bytes = message[n:size:size]
			}
		default:
			return fmt.Errorf("field %d has wire type %d, which ONNX does not use", f.number, f.wire)
		}
		if size <= 0 || size > len(message) {
			return fmt.Errorf("field %d is truncated", f.number)
		}
		if f.wire == wireFixed64 || f.wire == wireFixed32 {
			f.bytes = message[:size]
		}
		message = message[size:]
		if visit := s[f.number]; visit != nil {
			if err := visit(f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f field) text(into *string) error {
	if f.wire != wireBytes {
		return fmt.Errorf("field %d should be text", f.number)
	}
	*into = string(f.bytes)
	return nil
}

func (f field) texts(into *[]string) error {
	var s string
	err := f.text(&s)
	*into = append(*into, s)
	return err
}

func (f field) integer(into *int64) error {
	if f.wire != wireVarint {
		return fmt.Errorf("field %d should be a whole number", f.number)
	}
	*into = int64(f.value)
	return nil
}

// integers appends to a list of whole numbers, packed or single.
func (f field) integers(into *[]int64) error {
	if f.wire == wireVarint {
		*into = append(*into, int64(f.value))
		return nil
	}
	if f.wire != wireBytes {
		return fmt.Errorf("field %d should be whole numbers", f.number)
	}
	for rest := f.bytes; len(rest) > 0; {
		value, n := binary.Uvarint(rest)
		if n <= 0 {
			return fmt.Errorf("field %d is truncated", f.number)
		}
		*into, rest = append(*into, int64(value)), rest[n:]
	}
	return nil
}

// floats appends to a list of float32, packed or single.
func (f field) floats(into *[]float32) error {
	return f.packed(wireFixed32, 4, func(b []byte) {
		*into = append(*into, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	})
}

// doubles appends to a list of float64, packed or single, rounded to float32.
func (f field) doubles(into *[]float32) error {
	return f.packed(wireFixed64, 8, func(b []byte) {
		*into = append(*into, float32(math.Float64frombits(binary.LittleEndian.Uint64(b))))
	})
}

func (f field) packed(single, size int, element func(b []byte)) error {
	if f.wire != single && f.wire != wireBytes || len(f.bytes)%size != 0 {
		return fmt.Errorf("field %d should be %d-bit floats", f.number, 8*size)
	}
	for b := range slices.Chunk(f.bytes, size) {
		element(b)
	}
	return nil
}
