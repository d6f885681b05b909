package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// seal puts a header and data together as the format wants, so that tests can
// state any header by hand.
func seal(header, data string) []byte {
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(out, header...), data...)
}

// golden is a file written by hand from the format's description: the length
// 0x98 = 152, the JSON padded by spaces to 152 bytes, then 8 bytes of F32 and
// 3 of U8.
var golden = []byte("\x98\x00\x00\x00\x00\x00\x00\x00" +
	`{"__metadata__":{"made":"by hand"},` + // 35 bytes
	`"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},` + // 55 bytes
	`"codes":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}` + // 57 bytes
	"     " + // 152 - 147
	"\x00\x00\x80\x3f\x00\x00\x00\xc0" + // 1, -2
	"\x07\x08\xff")

func goldenTensors() []Tensor {
	return []Tensor{
		{Name: "codes", DType: U8, Shape: []int{3}, Data: []byte{7, 8, 255}},
		FromFloat32("w", []int{1, 2}, []float32{1, -2}),
	}
}

func TestEncodeGivesTheGoldenBytes(t *testing.T) {
	var out bytes.Buffer
	if err := Encode(&out, goldenTensors(), map[string]string{"made": "by hand"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), out.String()); diff != "" {
		t.Fatal(diff)
	}
}

func TestDecodeReadsTheGoldenBytes(t *testing.T) {
	file, err := Decode(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"made": "by hand"}, file.Metadata); diff != "" {
		t.Error(diff)
	}
	w, err := file.Get("w")
	if err != nil {
		t.Fatal(err)
	}
	values, err := w.Float32()
	if err != nil || !cmp.Equal(values, []float32{1, -2}) || !cmp.Equal(w.Shape, []int{1, 2}) {
		t.Errorf("w = %v %v, %v", w.Shape, values, err)
	}
	codes, _ := file.Get("codes")
	if values, err := codes.Int64(); err != nil || !cmp.Equal(values, []int64{7, 8, 255}) {
		t.Errorf("codes = %v, %v", values, err)
	}
	if _, err := file.Get("v"); err == nil || !strings.Contains(err.Error(), `"v"`) || !strings.Contains(err.Error(), "w, codes") {
		t.Errorf("missing tensor: %v", err)
	}
}

func TestWriteReadRoundTrip(t *testing.T) {
	tensors := []Tensor{
		{Name: "a flag", DType: BOOL, Shape: []int{3}, Data: []byte{1, 0, 1}},
		{Name: `quote " <&> é`, DType: F16, Shape: []int{1}, Data: []byte{0, 0x3c}},
		FromInt64("ids", []int{2}, []int64{math.MinInt64, math.MaxInt64}),
		FromFloat32("scalar", nil, []float32{float32(math.Inf(-1))}),
		FromFloat32("empty", []int{0, 4}, nil),
		FromFloat32("weights", []int{2, 2}, []float32{1, 2, 3, 4}),
	}
	metadata := map[string]string{"b": "2\n", "a": `"`}
	path := filepath.Join(t.TempDir(), "t.safetensors")
	if err := Write(path, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	file, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(metadata, file.Metadata); diff != "" {
		t.Error(diff)
	}
	for _, want := range tensors {
		got, err := file.Get(want.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	}

	content, _ := os.ReadFile(path)
	start := 8 + binary.LittleEndian.Uint64(content)
	if start%8 != 0 {
		t.Errorf("data starts at %d, not a multiple of 8", start)
	}
	offset := 0
	for _, tensor := range file.Tensors {
		if offset%tensor.DType.Size() != 0 {
			t.Errorf("%s at %d is not aligned to its elements", tensor.Name, offset)
		}
		offset += len(tensor.Data)
	}

	var reversed bytes.Buffer
	for i, j := 0, len(tensors)-1; i < j; i, j = i+1, j-1 {
		tensors[i], tensors[j] = tensors[j], tensors[i]
	}
	if err := Encode(&reversed, tensors, metadata); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(content, reversed.Bytes()) {
		t.Error("bytes depend on the order of the tensors")
	}
}

func TestDecodeRejects(t *testing.T) {
	const f32 = `{"dtype":"F32","shape":[1],"data_offsets":`
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"no length":          {[]byte{1, 2, 3}, "truncated"},
		"header beyond file": {golden[:100], "truncated: the header takes 152 bytes but only 92"},
		"data beyond file":   {golden[:len(golden)-1], `tensor "codes" ends at byte 11 of 10`},
		"huge header":        {[]byte("\xff\xff\xff\xff\xff\xff\xff\xffxx"), "above"},
		"empty header":       {seal("", ""), "does not start with {"},
		"leading space":      {seal(" {}", ""), "does not start with {"},
		"not JSON":           {seal(`{"a":`, ""), "not valid JSON"},
		"unquoted":           {seal(`{a:1}`, ""), "not valid JSON"},
		"not UTF-8":          {seal("{\"\xff\":1}", ""), "UTF-8"},
		"after the brace":    {seal(`{}{}`, ""), "goes on"},
		"padding not spaces": {seal("{}\x00", ""), "goes on"},
		"overlap":            {seal(`{"a":`+f32+`[0,4]},"b":`+f32+`[2,6]}}`, "123456"), `"b" begins at byte 2, inside tensor "a"`},
		"same bytes twice":   {seal(`{"a":`+f32+`[0,4]},"b":`+f32+`[0,4]}}`, "1234"), "inside tensor"},
		"hole":               {seal(`{"a":`+f32+`[0,4]},"b":`+f32+`[5,9]}}`, "123456789"), "bytes 4 to 5"},
		"hole at the start":  {seal(`{"a":`+f32+`[1,5]}}`, "12345"), "bytes 0 to 1"},
		"bytes left over":    {seal(`{"a":`+f32+`[0,4]}}`, "12345"), "last 1 bytes"},
		"backwards":          {seal(`{"a":`+f32+`[4,0]}}`, "1234"), "before it begins"},
		"wrong size":         {seal(`{"a":`+f32+`[0,5]}}`, "12345"), "takes 4 bytes but it holds 5"},
		"twice":              {seal(`{"a":`+f32+`[0,4]},"a":`+f32+`[4,8]}}`, "12345678"), `"a" twice`},
		"metadata key twice": {seal(`{"__metadata__":{"k":"1","k":"2"}}`, ""), `"k" twice`},
		"metadata not text":  {seal(`{"__metadata__":{"k":1}}`, ""), "instead of a string"},
		"negative dim":       {seal(`{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}}`, ""), "-1"},
		"fractional dim":     {seal(`{"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,1]}}`, "1"), "1.5"},
		"dims overflow":      {seal(`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, ""), "overflows"},
		"dim above int":      {seal(`{"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,0]}}`, ""), "whole number"},
		"unknown type":       {seal(`{"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}`, "1"), "F8_E4M3"},
		"unknown field":      {seal(`{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}}`, "1"), `unknown field "x"`},
		"field absent":       {seal(`{"a":{"dtype":"U8","shape":[1]}}`, ""), "lacks"},
		"one offset":         {seal(`{"a":`+f32+`[0]}}`, ""), "1 numbers instead of 2"},
		"entry not object":   {seal(`{"a":[]}`, ""), "instead of an object"},
		"shape not list":     {seal(`{"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}}`, "1"), "instead of a list"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(test.content)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestReadErrorsNameTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "broken.safetensors")
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("absent file: %v", err)
	}
	os.WriteFile(path, golden[:20], 0o644)
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("truncated file: %v", err)
	}
}

func TestWriteRejectsAndLeavesNoFile(t *testing.T) {
	one := FromFloat32("a", []int{1}, []float32{1})
	for name, test := range map[string]struct {
		tensors  []Tensor
		metadata map[string]string
		want     string
	}{
		"repeated name":    {[]Tensor{one, one}, nil, `named "a"`},
		"repeated, mixed":  {[]Tensor{one, {Name: "a", DType: U8, Shape: []int{1}, Data: []byte{1}}}, nil, `named "a"`},
		"no name":          {[]Tensor{FromFloat32("", []int{1}, []float32{1})}, nil, "no name"},
		"reserved name":    {[]Tensor{FromFloat32("__metadata__", []int{1}, []float32{1})}, nil, "reserved"},
		"shape too large":  {[]Tensor{FromFloat32("a", []int{2}, []float32{1})}, nil, "takes 8 bytes but it holds 4"},
		"negative shape":   {[]Tensor{FromFloat32("a", []int{-1}, []float32{1})}, nil, "negative"},
		"unknown type":     {[]Tensor{{Name: "a", DType: "F7", Shape: []int{0}}}, nil, "F7"},
		"name not UTF-8":   {[]Tensor{FromFloat32("\xff", []int{1}, []float32{1})}, nil, "UTF-8"},
		"metadata garbled": {[]Tensor{one}, map[string]string{"k": "\xff"}, "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			err := Write(filepath.Join(dir, "f"), test.tensors, test.metadata)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestConversions(t *testing.T) {
	raw := func(dtype DType, data ...byte) Tensor {
		return Tensor{Name: "x", DType: dtype, Shape: []int{len(data) / dtype.Size()}, Data: data}
	}
	inf := float32(math.Inf(1))
	for _, test := range []struct {
		tensor Tensor
		want   []float32
	}{
		// IEEE 754 binary16: 1, -2, 65504 (largest), 2^-24 (smallest), 2^-14 (smallest normal), inf, 1/3 rounded.
		{raw(F16, 0, 0x3c, 0, 0xc0, 0xff, 0x7b, 1, 0, 0, 4, 0, 0x7c, 0x55, 0x35),
			[]float32{1, -2, 65504, 5.9604644775390625e-08, 6.103515625e-05, inf, 0.333251953125}},
		{raw(BF16, 0x80, 0x3f, 0x49, 0x40), []float32{1, 3.140625}},
		{raw(F64, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f), []float32{1.5}},
	} {
		got, err := test.tensor.Float32()
		if err != nil || !cmp.Equal(got, test.want) {
			t.Errorf("%s: %v, %v; want %v", test.tensor.DType, got, err, test.want)
		}
		if _, err := test.tensor.Int64(); err == nil {
			t.Errorf("%s read as integers", test.tensor.DType)
		}
	}
	if got, _ := raw(F16, 1, 0x7e).Float32(); !math.IsNaN(float64(got[0])) {
		t.Errorf("half NaN became %v", got)
	}
	if got, _ := raw(F16, 0, 0x80).Float32(); got[0] != 0 || !math.Signbit(float64(got[0])) {
		t.Errorf("half -0 became %v", got)
	}
	for _, test := range []struct {
		tensor Tensor
		want   int64
	}{
		{raw(I32, 0xfe, 0xff, 0xff, 0xff), -2},
		{raw(U32, 0xfe, 0xff, 0xff, 0xff), math.MaxUint32 - 1},
		{raw(I16, 0xfe, 0xff), -2},
		{raw(U16, 0xfe, 0xff), 65534},
		{raw(I8, 0xfe), -2},
		{raw(U8, 0xfe), 254},
		{raw(BOOL, 1), 1},
		{raw(U64, 1, 0, 0, 0, 0, 0, 0, 0), 1},
	} {
		got, err := test.tensor.Int64()
		if err != nil || got[0] != test.want {
			t.Errorf("%s: %v, %v; want %d", test.tensor.DType, got, err, test.want)
		}
		if _, err := test.tensor.Float32(); err == nil {
			t.Errorf("%s read as float32", test.tensor.DType)
		}
	}
	if _, err := raw(U64, 0, 0, 0, 0, 0, 0, 0, 0x80).Int64(); err == nil || !strings.Contains(err.Error(), "9223372036854775808") {
		t.Errorf("2^63: %v", err)
	}
	if _, err := (Tensor{Name: "x", DType: F32, Shape: []int{2}, Data: make([]byte, 4)}).Float32(); err == nil {
		t.Error("too little data accepted")
	}
}

// FuzzDecode checks that no input panics, and that accepted input survives being
// written and read again.
func FuzzDecode(f *testing.F) {
	f.Add(golden)
	f.Add(golden[:60])
	f.Add(seal(`{}`, ""))
	f.Add(seal(`{"a":{"dtype":"I64","shape":[],"data_offsets":[0,8]}}`, "12345678"))
	f.Add(seal(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, ""))
	f.Add(seal(`{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, ""))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := Decode(content)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := Encode(&again, file.Tensors, file.Metadata); err != nil {
			if strings.Contains(err.Error(), "no name") {
				return // the format allows reading a nameless tensor
			}
			t.Fatal(err)
		}
		second, err := Decode(again.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range file.Tensors {
			got, err := second.Get(want.Name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func TestSealedFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	list := []Tensor{FromFloat32("a", []int{2}, []float32{1, 2}), FromInt64("b", nil, []int64{3})}
	told := false
	if err := WriteSealed(path, list, map[string]string{"k": "v"}, func() error { told = true; return nil }); err != nil || !told {
		t.Fatal(err, told)
	}
	file, err := ReadSealed(path)
	if err != nil || len(file.Tensors) != 2 || file.Metadata["k"] != "v" {
		t.Fatalf("%+v, %v", file, err)
	}
	if _, err := file.Get(sealName); err == nil {
		t.Error("the checksum is a tensor")
	}
	if _, err := Read(path); err != nil {
		t.Errorf("other readers: %v", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range content {
		for bit := range 8 {
			content[i] ^= 1 << bit
			if _, err := decodeSealed(content); err == nil {
				t.Errorf("bit %d of byte %d was flipped unnoticed", bit, i)
			}
			content[i] ^= 1 << bit
		}
	}
	if err := Write(path, list, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSealed(path); err == nil || !strings.Contains(err.Error(), "has no checksum") {
		t.Errorf("a file without a checksum: %v", err)
	}
	if err := WriteSealed(path, []Tensor{{Name: "z", DType: U8, Shape: []int{0}}}, nil, nil); err == nil {
		t.Error("a tensor after the checksum was written")
	}
	stop := errors.New("stop")
	if err := WriteSealed(path, nil, nil, func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if file, err := Read(path); err != nil || len(file.Tensors) != 2 {
		t.Error("a write that was stopped replaced the file")
	}
}
