// Package tensorboard writes event files: scalars, histograms, pictures and text over the steps of a run.
package tensorboard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// FileName is the name of an event file in a directory; TensorBoard recognises it.
func FileName(dir string, begun time.Time) string {
	return filepath.Join(dir, fmt.Sprintf("events.out.tfevents.%010d.gritvq", begun.Unix()))
}

// Writer appends events to a file. Each is complete after its call, so that TensorBoard can read along.
type Writer struct{ to io.Writer }

// New starts an event file.
func New(to io.Writer, begun time.Time) (*Writer, error) {
	w := &Writer{to}
	return w, w.record(text(event(begun, 0), 3, "brain.Event:2"))
}

// Value is one value of a step, made by [Scalar] and its kind.
type Value struct{ encoded []byte }

// Add writes values of a step.
func (w *Writer) Add(at time.Time, step int, values ...Value) error {
	var summary []byte
	for _, v := range values {
		summary = message(summary, 1, v.encoded)
	}
	return w.record(message(event(at, step), 5, summary))
}

// Scalar is a number, under a tag such as "held/mse".
func Scalar(tag string, value float64) Value {
	v := protowire.AppendTag(text(nil, 1, tag), 2, protowire.Fixed32Type)
	return Value{protowire.AppendFixed32(v, math.Float32bits(float32(value)))}
}

// Counts is a histogram of how often each of the numbers from 0 was seen.
func Counts(tag string, counts []int64) Value {
	var limits, buckets []byte
	var number, sum, squares float64
	for i, n := range counts {
		limits, buckets = appendDouble(limits, float64(i)+0.5), appendDouble(buckets, float64(n))
		number, sum, squares = number+float64(n), sum+float64(n)*float64(i), squares+float64(n)*float64(i)*float64(i)
	}
	var h []byte
	for i, x := range []float64{-0.5, float64(len(counts)) - 0.5, number, sum, squares} {
		h = appendDouble(protowire.AppendTag(h, protowire.Number(i+1), protowire.Fixed64Type), x)
	}
	h = message(message(h, 6, limits), 7, buckets)
	return Value{message(text(nil, 1, tag), 5, h)}
}

// PNG is a picture of a size in pixels.
func PNG(tag string, width, height int, content []byte) Value {
	const rgb = 3
	p := number(number(number(nil, 1, height), 2, width), 3, rgb)
	return Value{message(text(nil, 1, tag), 4, message(p, 4, content))}
}

// Text is Markdown.
func Text(tag, markdown string) Value {
	const ofStrings = 7
	t := message(number(nil, 1, ofStrings), 2, message(nil, 2, number(nil, 1, 1)))
	v := message(text(nil, 1, tag), 8, text(t, 8, markdown))
	return Value{message(v, 9, message(nil, 1, text(nil, 1, "text")))}
}

func event(at time.Time, step int) []byte {
	e := appendDouble(protowire.AppendTag(nil, 1, protowire.Fixed64Type), float64(at.UnixNano())/1e9)
	return number(e, 2, step)
}

// record writes a record of a TFRecord file: its length, its content, and the checksums of both.
func (w *Writer) record(content []byte) error {
	r := binary.LittleEndian.AppendUint64(nil, uint64(len(content)))
	r = binary.LittleEndian.AppendUint32(r, masked(r))
	r = append(r, content...)
	_, err := w.to.Write(binary.LittleEndian.AppendUint32(r, masked(content)))
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the checksum of a TFRecord file.
func masked(content []byte) uint32 {
	sum := crc32.Checksum(content, castagnoli)
	return (sum>>15 | sum<<17) + 0xa282ead8
}

func message(to []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), content)
}

func text(to []byte, field protowire.Number, content string) []byte {
	return message(to, field, []byte(content))
}

func number(to []byte, field protowire.Number, value int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), uint64(value))
}

func appendDouble(to []byte, value float64) []byte {
	return protowire.AppendFixed64(to, math.Float64bits(value))
}
