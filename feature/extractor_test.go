package feature

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/internal/gradtest"
)

func extractorOf(t *testing.T, o ONNXOptions) *Extractor {
	t.Helper()
	network, err := LoadONNX("testdata/tiny.onnx", o)
	if err != nil {
		t.Fatal(err)
	}
	extractor, err := NewExtractor(gradtest.Engine(t), network)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(extractor.Close)
	return extractor
}

// Eleven pictures, a block and a padded one, equal PyTorch's result, and so does
// each of them alone.
func TestExtractorEqualsPyTorch(t *testing.T) {
	extractor := extractorOf(t, ONNXOptions{})
	const n, size, width = 11, 16, 4
	pictures := pixels(1, n, size, size)
	got, err := extractor.Features(context.Background(), pictures, n, size)
	if err != nil {
		t.Fatal(err)
	}
	var wide []float64
	for _, value := range got {
		wide = append(wide, float64(value))
	}
	gradtest.Close(t, "features", wide, expected(t, "tiny"), 1e-5)
	for i := range n {
		one, err := extractor.Features(context.Background(), pictures[i*size*size*3:(i+1)*size*size*3], 1, size)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(one, got[i*width:(i+1)*width]) {
			t.Errorf("picture %d has other features among others", i)
		}
	}
}

func TestExtractorResizes(t *testing.T) {
	extractor, plain := extractorOf(t, ONNXOptions{Size: 16}), extractorOf(t, ONNXOptions{})
	flat := slices.Repeat([]uint8{200, 10, 90}, 40*40)
	large, err := extractor.Features(context.Background(), flat, 1, 40)
	if err != nil {
		t.Fatal(err)
	}
	small, err := plain.Features(context.Background(), flat[:16*16*3], 1, 16)
	if err != nil {
		t.Fatal(err)
	}
	for i := range small {
		if math.Abs(float64(large[i]-small[i])) > 1e-5 {
			t.Errorf("a flat picture's features became %v from %v", large, small)
			break
		}
	}
}

func TestRunnersRefuse(t *testing.T) {
	extractor := extractorOf(t, ONNXOptions{})
	fails := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	_, err := extractor.Features(context.Background(), make([]uint8, 5), 1, 16)
	fails(err, "5 samples are not 1 pictures of 16 x 16 x 3")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := extractor.Features(ended, pixels(1, 1, 16, 16), 1, 16); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after the context ended", err)
	}
	network, err := newLPIPS(fileOf(t, backboneTensors(alexNet)))
	if err != nil {
		t.Fatal(err)
	}
	runner, err := NewLPIPSRunner(gradtest.Engine(t), network)
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	_, err = runner.Distances(context.Background(), pixels(1, 1, 16, 16), pixels(2, 1, 16, 16), 1, 16)
	fails(err, "at least 32 x 32")
	_, err = runner.Distances(context.Background(), pixels(1, 1, 32, 32), pixels(2, 1, 16, 16), 1, 32)
	fails(err, "768 samples")
}

// Pillow 9.4.0's bilinear resizing of floating-point pictures.
func TestResizeEqualsPillow(t *testing.T) {
	for _, c := range [][2]int{{20, 32}, {50, 32}, {33, 20}} {
		size, to := c[0], c[1]
		got := resized(pixels(1, 1, size, size), size, to)
		for i, want := range expected(t, fmt.Sprintf("resize %d to %d", size, to)) {
			if math.Abs(float64(got[i*97])-want) > 1e-5 {
				t.Errorf("%d to %d: sample %d is %.6f, want %.6f", size, to, i*97, got[i*97], want)
			}
		}
	}
	same := pixels(1, 1, 9, 9)
	for i, value := range resized(same, 9, 9) {
		if value != float32(same[i])/255 {
			t.Fatalf("sample %d changed without a change of size", i)
		}
	}
}

func resized(pixels []uint8, size, to int) []float32 {
	out := make([]float32, to*to*3)
	newResizer(size, to).apply(out, pixels)
	return out
}
