package codes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"
	"strings"
	"testing"
)

// backwards predicts from the last code to the first; a code like the one before is probable.
type backwards struct {
	vocab   []uint32
	machine string
	weight  uint32 // of a code like the one before
}

func (b backwards) Identity() [sha256.Size]byte { return [sha256.Size]byte{7} }
func (b backwards) Machine() string             { return b.machine }

func (b backwards) Walk(ctx context.Context, grid CodeMap, visit func(at int, weights []uint32) error) error {
	levels := len(b.vocab)
	for at := grid.Height*grid.Width*levels - 1; at >= 0; at-- {
		weights := slices.Repeat([]uint32{1}, int(b.vocab[at%levels]))
		if next := at + levels; next < len(grid.Codes) {
			weights[grid.Codes[next]] = b.weight
		}
		if err := visit(at, weights); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func predictedPicture(vocab ...uint32) Picture {
	p := Picture{Width: 30, Height: 21, Factor: 4, Vocab: vocab, Fingerprint: [32]byte{1}}
	for i := range p.GridWidth() * p.GridHeight() {
		for _, k := range vocab {
			p.Codes = append(p.Codes, uint32(i/5*3)%k)
		}
	}
	return p
}

// A picture comes back, with as many bits as its probabilities say.
func TestPredictedRoundTrip(t *testing.T) {
	for _, vocab := range [][]uint32{{1}, {9}, {1000}, {5, 300}} {
		p := predictedPicture(vocab...)
		m := backwards{vocab: vocab, machine: "here", weight: 50}
		var file bytes.Buffer
		size, err := EncodePredicted(t.Context(), &file, p, m)
		if err != nil || 8*file.Len() != size.Header+size.Payload {
			t.Fatalf("%d bytes, said to be %+v: %v", file.Len(), size, err)
		}
		ideal := 0.0
		for at, code := range p.Codes {
			k, weight := float64(vocab[at%len(vocab)]), 1.0
			total := k
			if next := at + len(vocab); next < len(p.Codes) {
				total = k - 1 + 50
				if p.Codes[next] == code {
					weight = 50
				}
			}
			ideal += math.Log2(total / weight)
		}
		if payload := float64(size.Payload); payload < ideal-8 || payload > ideal+9 {
			t.Errorf("%v: %g bits, ideally %g", vocab, payload, ideal)
		}
		got, err := DecodePredicted(t.Context(), &file, p.Fingerprint, m)
		if err != nil || !slices.Equal(got.Codes, p.Codes) || got.Width != p.Width || got.Height != p.Height || got.Factor != p.Factor {
			t.Errorf("%v: read something else: %v", vocab, err)
		}
	}
}

// Files of others, of other machines and programs, and damaged ones are refused.
func TestPredictedSaysWhatIsWrong(t *testing.T) {
	p := predictedPicture(300)
	m := backwards{vocab: p.Vocab, machine: "go amd64 avx2", weight: 50}
	var file, plain bytes.Buffer
	if _, err := EncodePredicted(t.Context(), &file, p, m); err != nil {
		t.Fatal(err)
	}
	if _, err := Encode(&plain, p, nil); err != nil {
		t.Fatal(err)
	}
	content := file.Bytes()
	resealed := func(change func(content []byte) []byte) []byte {
		body := change(bytes.Clone(content[:len(content)-checksumBytes]))
		return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
	}
	other := m
	other.machine = "go amd64 avx512"
	differs := m
	differs.weight = 49
	for _, c := range []struct {
		name, want  string
		content     []byte
		fingerprint [32]byte
		m           Predictor
	}{
		{"without a prior", "encoded without a prior", plain.Bytes(), p.Fingerprint, m},
		{"tokenizer", "another tokenizer or another prior", content, [32]byte{2}, m},
		{"machine", "encoded on go amd64 avx2, and this is go amd64 avx512", content, p.Fingerprint, other},
		{"program", "do not match their checksum", content, p.Fingerprint, differs},
		{"bit", "its checksum does not match", append(slices.Clone(content[:40]), content[41:]...), p.Fingerprint, m},
		{"short", "do not match their checksum", resealed(func(c []byte) []byte { return c[:len(c)-15] }), p.Fingerprint, m},
		{"header", "header of the picture is damaged", resealed(func(c []byte) []byte { return c[:30] }), p.Fingerprint, m},
	} {
		_, err := DecodePredicted(t.Context(), bytes.NewReader(c.content), c.fingerprint, c.m)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Decode(bytes.NewReader(content), p.Fingerprint, nil); err == nil || !strings.Contains(err.Error(), "name it with --prior") {
		t.Errorf("decoded without the prior: %v", err)
	}
	p.Codes[3] = 300
	if _, err := EncodePredicted(t.Context(), &file, p, m); err == nil || !strings.Contains(err.Error(), "cannot be encoded") {
		t.Errorf("a code outside the vocabulary: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := EncodePredicted(ended, &file, predictedPicture(300), m); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
