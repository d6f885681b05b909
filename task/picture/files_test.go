package picture

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/safetensors"
	"github.com/gritvq/gritvq/tokenizer"
)

// entropy learns the codes of built-in pictures.
func entropy(tb testing.TB, r *tokenizer.Runtime, n int) *codes.Model {
	tb.Helper()
	m, err := TrainEntropy(tb.Context(), r, scenes(tb, n, r.Tokenizer().Spec.Model.Image.Size), dataset.All(n))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func write(t testing.TB, f Files, path string, g Grid) codes.Bits {
	t.Helper()
	bits, err := f.Write(t.Context(), path, g)
	if err != nil {
		t.Fatal(err)
	}
	return bits
}

// A picture of any size comes back from its file, with or without a model, with
// all levels or the leading ones.
func TestFilesGiveBackTheGrid(t *testing.T) {
	for _, parts := range []int{1, 2} {
		r := untrained(t, 16, []int{8, 8}, 2, parts)
		model := entropy(t, r, 40)
		for _, m := range []*codes.Model{nil, model} {
			f := Files{Tokenizer: r.Tokenizer(), Fingerprint: [32]byte{3, 1, 4}, Entropy: m}
			for _, size := range [][2]int{{1, 1}, {16, 16}, {37, 21}} {
				for _, levels := range []int{0, 1} {
					g := encode(t, Encoder{Runtime: r, Options: tokenizer.Options{Levels: levels}}, smooth(size[0], size[1]))
					path := filepath.Join(t.TempDir(), "p.gvqi")
					bits := write(t, f, path, g)
					info, err := os.Stat(path)
					if err != nil || int64(bits.Header+bits.Payload) != 8*info.Size() {
						t.Errorf("%v: %d + %d bits, the file has %d bytes (%v)", size, bits.Header, bits.Payload, info.Size(), err)
					}
					back, err := f.Read(t.Context(), path)
					if err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(back, g) {
						t.Errorf("%d parts, %v, %d levels: another grid came back", parts, size, levels)
					}
				}
			}
		}
	}
}

// The model of codes is a function of the pictures, and makes files smaller.
func TestTrainEntropy(t *testing.T) {
	r := untrained(t, 16, []int{8, 8}, 2, 1)
	set := scenes(t, 200, 16)
	train, held := dataset.Split(set.Len(), 0.2, 1)
	model, err := TrainEntropy(t.Context(), r, set, train)
	if err != nil {
		t.Fatal(err)
	}
	again, err := TrainEntropy(t.Context(), r, set, train)
	if err != nil {
		t.Fatal(err)
	}
	same := slices.EqualFunc(model.Tensors(), again.Tensors(), func(a, b safetensors.Tensor) bool {
		return a.Name == b.Name && bytes.Equal(a.Data, b.Data)
	})
	if !same || !slices.Equal(model.Vocab(), []uint32{24, 24}) {
		t.Errorf("a second training gave another model of vocabularies %v", model.Vocab())
	}
	s, _, err := Evaluate(t.Context(), r, set, held, Networks{}, Options{Entropy: model})
	if err != nil {
		t.Fatal(err)
	}
	if !(s.CodedBitsPerPixel < 0.95*s.BitsPerPixel) || s.CodedBitsPerPixel < 0.2*s.BitsPerPixel {
		t.Errorf("%g bits a pixel coded, %g plain", s.CodedBitsPerPixel, s.BitsPerPixel)
	}
	f, payload := Files{Tokenizer: r.Tokenizer(), Entropy: model}, 0
	sample, err := Take(t.Context(), r, set, held, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range sample.Grids {
		payload += write(t, f, filepath.Join(t.TempDir(), "p.gvqi"), g).Payload
	}
	if want := float64(payload) / float64(held.Len()*16*16); math.Abs(s.CodedBitsPerPixel-want) > 1e-12 {
		t.Errorf("%g bits a pixel, the files have %g", s.CodedBitsPerPixel, want)
	}
}

func TestTrainEntropyErrors(t *testing.T) {
	r := untrained(t, 16, []int{8, 8}, 1, 1)
	_, err := TrainEntropy(t.Context(), r, scenes(t, 3, 16), dataset.All(0))
	if err == nil || !strings.Contains(err.Error(), "has no picture to learn") {
		t.Errorf("no pictures: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := TrainEntropy(ended, r, scenes(t, 3, 16), dataset.All(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestFilesErrors(t *testing.T) {
	r := untrained(t, 16, []int{8, 8}, 1, 1)
	f := Files{Tokenizer: r.Tokenizer(), Fingerprint: [32]byte{1}}
	g := encode(t, Encoder{Runtime: r}, smooth(20, 9))
	dir := t.TempDir()
	path := filepath.Join(dir, "p.gvqi")
	write(t, f, path, g)
	if _, err := f.Read(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	other := f
	other.Fingerprint = [32]byte{2}
	_, err := other.Read(t.Context(), path)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "another tokenizer") {
		t.Errorf("another tokenizer: %v", err)
	}
	coarse := f
	coarse.Tokenizer = untrained(t, 16, []int{8, 8, 8}, 1, 1).Tokenizer()
	if _, err := coarse.Read(t.Context(), path); err == nil || !strings.Contains(err.Error(), "cells of 2 pixels") {
		t.Errorf("other cells: %v", err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 4
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Read(t.Context(), path); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damage: %v", err)
	}
	g.Codes[3] = 24
	_, err = f.Write(t.Context(), path, g)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "code 24") {
		t.Errorf("a code that is none: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
		t.Errorf("the failed write changed the file (%v)", err)
	}
	g.Codes = append(g.Codes, g.Codes...)
	if _, err := f.Write(t.Context(), path, g); err == nil || !strings.Contains(err.Error(), "2 codes a cell do not fit") {
		t.Errorf("too many levels: %v", err)
	}
}
