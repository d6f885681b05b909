package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The wire types of protocol buffers that ONNX files use.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// field is one field of a message: a number in value, or bytes.
type field struct {
	number int
	wire   int
	value  uint64
	bytes  []byte
}

// schema says how the fields of a message are read, by number; others are
// passed over.
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

// read reads the fields of a message. It fails on anything that is not a protocol
// buffer, and where a field's reader does.
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
			if size <= 0 {
				return fmt.Errorf("field %d is truncated", f.number)
			}
		case wireFixed64, wireFixed32:
			size = 8
			if f.wire == wireFixed32 {
				size = 4
			}
			if len(message) < size {
				return fmt.Errorf("field %d is truncated", f.number)
			}
			for i, b := range message[:size] {
				f.value |= uint64(b) << (8 * i)
			}
		case wireBytes:
			length, n := binary.Uvarint(message)
			if n <= 0 || length > uint64(len(message)-n) {
				return fmt.Errorf("field %d is truncated", f.number)
			}
			size = n + int(length)
			f.bytes = message[n:size:size]
		default:
			return fmt.Errorf("field %d has wire type %d, which ONNX does not use", f.number, f.wire)
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

// text reads a string.
func (f field) text(into *string) error {
	if f.wire != wireBytes {
		return fmt.Errorf("field %d should be text", f.number)
	}
	*into = string(f.bytes)
	return nil
}

// texts appends to a list of strings.
func (f field) texts(into *[]string) error {
	var s string
	err := f.text(&s)
	*into = append(*into, s)
	return err
}

// integer reads a whole number.
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
	switch {
	case f.wire == wireFixed32:
		*into = append(*into, math.Float32frombits(uint32(f.value)))
	case f.wire == wireBytes && len(f.bytes)%4 == 0:
		for i := 0; i < len(f.bytes); i += 4 {
			*into = append(*into, math.Float32frombits(binary.LittleEndian.Uint32(f.bytes[i:])))
		}
	default:
		return fmt.Errorf("field %d should be 32-bit floats", f.number)
	}
	return nil
}

// doubles appends to a list of float64, packed or single, rounded to float32.
func (f field) doubles(into *[]float32) error {
	switch {
	case f.wire == wireFixed64:
		*into = append(*into, float32(math.Float64frombits(f.value)))
	case f.wire == wireBytes && len(f.bytes)%8 == 0:
		for i := 0; i < len(f.bytes); i += 8 {
			*into = append(*into, float32(math.Float64frombits(binary.LittleEndian.Uint64(f.bytes[i:]))))
		}
	default:
		return fmt.Errorf("field %d should be 64-bit floats", f.number)
	}
	return nil
}
