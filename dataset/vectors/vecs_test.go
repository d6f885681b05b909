package vectors

import (
	"context"
	"encoding/binary"
	"os"
	"slices"
	"testing"
)

// goldenFvecs is two rows of dimension 3.
var goldenFvecs = "\x03\x00\x00\x00" + "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40" +
	"\x03\x00\x00\x00" + "\x00\x00\x80\xc0\x00\x00\xb0\x40\x00\x00\x80\x3e"

func TestVecs(t *testing.T) {
	v := mustOpen(t, writeFile(t, "x.fvecs", []byte(goldenFvecs)), Options{})
	if got := allRows(t, v); v.Dim() != 3 || !slices.Equal(got, goldenValues) {
		t.Errorf("fvecs: got %v", got)
	}
	written, err := os.ReadFile(writeVectors(t, "y.fvecs", 3, goldenValues))
	if err != nil || string(written) != goldenFvecs {
		t.Errorf("Create wrote %q, %v", written, err)
	}
	v = mustOpen(t, writeFile(t, "x.bvecs", []byte("\x02\x00\x00\x00\x00\xff\x02\x00\x00\x00\x07\x80")), Options{})
	if got := allRows(t, v); v.Len() != 2 || !slices.Equal(got, []float32{0, 255, 7, 128}) {
		t.Errorf("bvecs: got %v", got)
	}
}

func TestOpenBadVecs(t *testing.T) {
	tests := []struct {
		name    string
		content string
		want    []string
	}{
		{"three bytes", "\x03\x00\x00", []string{"truncated", "found 3"}},
		{"zero dimension", "\x00\x00\x00\x00", []string{"dimension 0"}},
		{"negative dimension", "\xff\xff\xff\xffabcd", []string{"dimension -1"}},
		{"huge dimension", "\x00\x00\x00\x7fabcd", []string{"dimension 2130706432"}},
		{"cut", goldenFvecs[:30], []string{"truncated", "32 bytes were expected", "found 30"}},
		{"last row differs", goldenFvecs[:16] + "\x04" + goldenFvecs[17:], []string{"row 1 of", "another dimension"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := writeFile(t, "x.fvecs", []byte(test.content))
			_, err := Open(context.Background(), path, Options{})
			wantError(t, err, append(test.want, path)...)
		})
	}
}

func TestVecsMiddleRowIsCheckedWhenRead(t *testing.T) {
	content := []byte(goldenFvecs + goldenFvecs[:16])
	binary.LittleEndian.PutUint32(content[16:], 2)
	v := mustOpen(t, writeFile(t, "x.fvecs", content), Options{})
	wantError(t, v.Rows(0, 3, make([]float32, 9)), "row 1 of", "another dimension than row 0 (3)")
}
