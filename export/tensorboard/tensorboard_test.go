package tensorboard

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gritvq/gritvq/internal/interop"
)

var begun = time.Unix(1_700_000_000, 500_000_000)

// The checksums of 32 zero bytes and of the numbers 0 to 31 are those of RFC 3720, masked.
func TestMaskedChecksum(t *testing.T) {
	ascending := make([]byte, 32)
	for i := range ascending {
		ascending[i] = byte(i)
	}
	for want, content := range map[uint32][]byte{0x8a9136aa: make([]byte, 32), 0x46dd794e: ascending} {
		if got := masked(content); got != (want>>15|want<<17)+0xa282ead8 {
			t.Errorf("the checksum is %x", got)
		}
	}
}

func TestAddLog(t *testing.T) {
	const log = `{"step":1,"loss":2,"held":{"mse":0.5},"levels":{"use":[1,0.5]},"phase":"train","trials":[{"error":1}]}
{"step":20,"loss":1,"event":"codes placed"}
{"step":30,"lo`
	var file bytes.Buffer
	w, err := New(&file, begun)
	if err != nil {
		t.Fatal(err)
	}
	last, records, err := w.AddLog(strings.NewReader(log), begun)
	if err != nil || last != 20 || records != 2 {
		t.Errorf("step %d, %d records, %v", last, records, err)
	}
	for _, tag := range []string{"loss", "held/mse", "levels/use/0", "levels/use/1", "event"} {
		if !bytes.Contains(file.Bytes(), []byte(tag)) {
			t.Errorf("the file has no %q", tag)
		}
	}
	if bytes.Contains(file.Bytes(), []byte("trials")) || bytes.Contains(file.Bytes(), []byte("phase")) {
		t.Error("the file has values that are no scalars")
	}
	for log, want := range map[string]string{"{\"loss\":1}\n": `line 1 has no number "step"`, "step,loss\n1,2\n": "line 1 is no JSON object"} {
		if _, _, err := w.AddLog(strings.NewReader(log), begun); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", log, err, want)
		}
	}
}

const program = `
import json
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
a = EventAccumulator(".", size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0})
a.Reload()
tags = a.Tags()
h = a.Histograms("codes")[0].histogram_value
i = a.Images("grid")[0]
print(json.dumps({
    "scalars": {tag: [[e.step, e.value, e.wall_time] for e in a.Scalars(tag)] for tag in tags["scalars"]},
    "histogram": [h.min, h.max, h.num, h.sum, h.sum_squares, list(h.bucket_limit), list(h.bucket)],
    "image": [i.step, i.width, i.height, i.encoded_image_string[:4].hex()],
    "text": [t.decode() for t in tensor_util.make_ndarray(a.Tensors("config")[0].tensor_proto)],
}))
`

// TensorBoard's own reader finds scalars, histograms, pictures and text.
func TestInteropTensorBoard(t *testing.T) {
	python, dir := interop.Find(t, "tensorboard"), t.TempDir()
	file, err := os.Create(FileName(dir, begun))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := New(file, begun)
	if err != nil {
		t.Fatal(err)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 5, 3))); err != nil {
		t.Fatal(err)
	}
	for _, add := range []struct {
		step   int
		values []Value
	}{
		{1, []Value{Scalar("loss", 2), Scalar("held/mse", 0.25)}}, {70000, []Value{Scalar("loss", -1)}},
		{70000, []Value{Counts("codes", []int64{4, 0, 6}), PNG("grid", 5, 3, picture.Bytes()), Text("config", "seed: 1")}},
	} {
		if err := w.Add(begun, add.step, add.values...); err != nil {
			t.Fatal(err)
		}
	}
	var got map[string]any
	if err := json.Unmarshal(python.Run(t, dir, program), &got); err != nil {
		t.Fatal(err)
	}
	at := 1_700_000_000.5
	want := map[string]any{
		"scalars":   map[string]any{"loss": []any{[]any{1.0, 2.0, at}, []any{70000.0, -1.0, at}}, "held/mse": []any{[]any{1.0, 0.25, at}}},
		"histogram": []any{-0.5, 2.5, 10.0, 12.0, 24.0, []any{0.5, 1.5, 2.5}, []any{4.0, 0.0, 6.0}},
		"image":     []any{70000.0, 5.0, 3.0, "89504e47"},
		"text":      []any{"seed: 1"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("TensorBoard reads %v, want %v", got, want)
	}
}

// A record is its length, the length's checksum, the content and its checksum.
func TestRecordLayout(t *testing.T) {
	var file bytes.Buffer
	if _, err := New(&file, begun); err != nil {
		t.Fatal(err)
	}
	content := file.Bytes()
	n := int(binary.LittleEndian.Uint64(content))
	if len(content) != 8+4+n+4 || binary.LittleEndian.Uint32(content[8:]) != masked(content[:8]) ||
		binary.LittleEndian.Uint32(content[12+n:]) != masked(content[12:12+n]) {
		t.Errorf("the first record is % x", content)
	}
}
