package codes

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// checkRoundTrip encodes and decodes and returns the file.
func checkRoundTrip(t *testing.T, p Picture, m *Model) []byte {
	t.Helper()
	var out bytes.Buffer
	size, err := Encode(&out, p, m)
	if err != nil {
		t.Fatal(err)
	}
	if 8*out.Len() != size.Header+size.Payload {
		t.Errorf("a file of %d bytes, said to be %+v", out.Len(), size)
	}
	content := bytes.Clone(out.Bytes())
	got, err := Decode(&out, p.Fingerprint, m)
	if err != nil {
		t.Fatalf("%d x %d, %v: %v", p.Width, p.Height, p.Vocab, err)
	}
	if got.Width != p.Width || got.Height != p.Height || got.Factor != p.Factor || got.Fingerprint != p.Fingerprint ||
		!slices.Equal(got.Vocab, p.Vocab) || !slices.Equal(got.Codes, p.Codes) {
		t.Fatalf("%d x %d, %v: read something else", p.Width, p.Height, p.Vocab)
	}
	// Never larger than uniform codes: 2 bytes a level for the method, the
	// end and rounding.
	bound := float64(size.Header) + 16*float64(len(p.Vocab))
	for _, k := range p.Vocab {
		bound += math.Log2(float64(k)) * float64(len(p.Codes)/len(p.Vocab))
	}
	if float64(8*len(content)) > bound {
		t.Errorf("%v: %d bytes, more than %.0f", p.Vocab, len(content), bound/8)
	}
	return content
}

func TestPictureRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 1))
	sizes := [][2]int{{1, 1}, {1, 17}, {17, 1}, {2, 2}, {16, 16}, {23, 31}}
	for _, vocab := range [][]uint32{{1}, {2}, {16}, {1000}, {65536}, {1 << 20}, {1, 1}, {7, 1, 300}, {256, 65536}, {64, 64, 64, 64}} {
		var vectors [][]float32
		var train []CodeMap
		for _, k := range vocab {
			vectors = append(vectors, line(int(k)))
		}
		structured := func(height, width int) CodeMap {
			g := CodeMap{Height: height, Width: width}
			for i := range height * width {
				for _, k := range vocab {
					g.Codes = append(g.Codes, uint32(i/3%5*int(k)/7+random.IntN(3))%k)
				}
			}
			return g
		}
		for range 4 {
			train = append(train, structured(9, 12))
		}
		var model *Model // nil where training would take long
		if slices.Max(vocab) <= 1<<16 {
			var err error
			if model, err = Train(t.Context(), train, vocab, vectors); err != nil {
				t.Fatal(err)
			}
		}
		for _, size := range sizes {
			noise := CodeMap{Height: size[0], Width: size[1]}
			constant := noise
			for range size[0] * size[1] {
				for _, k := range vocab {
					noise.Codes = append(noise.Codes, random.Uint32N(k))
					constant.Codes = append(constant.Codes, k-1)
				}
			}
			for _, g := range []CodeMap{noise, constant, structured(size[0], size[1])} {
				p := Picture{Width: 8*g.Width - random.IntN(8), Height: 8*g.Height - random.IntN(8), Factor: 8, Vocab: vocab, Codes: g.Codes,
					Fingerprint: [32]byte{1, 2, 3}}
				checkRoundTrip(t, p, nil)
				checkRoundTrip(t, p, model)
			}
		}
	}
}

// A model of more levels than the picture has is used for those there are.
func TestPictureOfFirstLevels(t *testing.T) {
	vocab := []uint32{32, 16}
	m := trainTwoLevels(t, 1, vocab)
	g := twoLevels(rand.New(rand.NewPCG(2, 2)), vocab, 16, 16)
	p := Picture{Width: 16, Height: 16, Factor: 1, Vocab: vocab[:1]}
	for i := 0; i < len(g.Codes); i += 2 {
		p.Codes = append(p.Codes, g.Codes[i])
	}
	var out bytes.Buffer
	size, err := Encode(&out, p, m)
	if err != nil || size.Levels[0].Method != Contextual {
		t.Errorf("%+v, %v", size, err)
	}
	checkRoundTrip(t, p, m)
}

func TestPictureSizeIsTheIdealOne(t *testing.T) {
	vocab := []uint32{32, 16}
	m := trainTwoLevels(t, 1, vocab)
	g := twoLevels(rand.New(rand.NewPCG(5, 5)), vocab, 100, 100)
	p := Picture{Width: 100, Height: 100, Factor: 1, Vocab: vocab, Codes: g.Codes}
	var out bytes.Buffer
	size, err := Encode(&out, p, m)
	if err != nil {
		t.Fatal(err)
	}
	ideal := 0.0
	for level := range vocab {
		if size.Levels[level].Method != Contextual {
			t.Fatalf("level %d is coded %v", level, size.Levels[level].Method)
		}
		bits := contextBits(m, g.planes(1)[level]) + math.Log2(3)
		if got := float64(size.Levels[level].Bits); math.Abs(got-bits) > 2+bits/1000 {
			t.Errorf("level %d takes %g bits, %g at best", level, got, bits)
		}
		ideal += bits
	}
	if got := float64(size.Payload); got > ideal*1.001+16 {
		t.Errorf("the payload takes %g bits, %g at best", got, ideal)
	}
	if size.Header != 8*23 {
		t.Errorf("the header takes %d bits", size.Header)
	}
}

// The bytes of a file, and through them the training, are the same everywhere.
func TestPictureGoldenBytes(t *testing.T) {
	vocab := []uint32{32, 16}
	m := trainTwoLevels(t, 7, vocab)
	if got := hex.EncodeToString(m.sum[:8]); got != "265b22401f4aa040" {
		t.Errorf("the model's checksum starts with %s", got)
	}
	g := twoLevels(rand.New(rand.NewPCG(8, 1)), vocab, 6, 7)
	p := Picture{Width: 55, Height: 48, Factor: 8, Vocab: vocab, Codes: g.Codes}
	copy(p.Fingerprint[:], "0123456789abcdef0123456789ABCDEF")
	for name, test := range map[string]struct {
		model *Model
		want  string
	}{
		"with model":    {m, "475651490137300802201052ff98b4a87a7c27bf44a8281f0ddc572439d9a7123d614ea70b1c"},
		"without model": {nil, "4756514901373008022010f02ae380606c48d69a1a47072648017a043f2ed94ae66f2a1160c01c6ecb34d7419d67cdc43ddf"},
	} {
		if got := hex.EncodeToString(checkRoundTrip(t, p, test.model)); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}

// A file by hand, from the format's description: a picture of 3 x 1 pixels
// without a model, one level of 4 codes that are 2, 3 and 1. The method takes
// the first third, uniform codes take quarters: 0.231 in base 4, a third of
// which is 0.2343..., so that one byte within the interval does.
func TestPictureFormat(t *testing.T) {
	p := Picture{Width: 3, Height: 1, Factor: 1, Vocab: []uint32{4}, Codes: []uint32{2, 3, 1}}
	low := (2.0/4 + 3.0/16 + 1.0/64) / 3
	payload := byte(math.Ceil(low * 256))
	if float64(payload)/256 >= low+1.0/64/3 {
		t.Fatal("the example needs a longer payload")
	}
	id := identity(p.Fingerprint, nil)
	want := appendSum(slices.Concat([]byte("GVQI\x01\x03\x01\x01\x01\x04"), id[:], []byte{payload}))
	if got := checkRoundTrip(t, p, nil); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func TestEncodeErrors(t *testing.T) {
	good := Picture{Width: 3, Height: 2, Factor: 2, Vocab: []uint32{5}, Codes: []uint32{1, 4}}
	m := trainTwoLevels(t, 1, []uint32{32, 16})
	for name, test := range map[string]struct {
		change func(p *Picture)
		model  *Model
		want   string
	}{
		"width":      {func(p *Picture) { p.Width = 0 }, nil, "0 x 2 pixels"},
		"height":     {func(p *Picture) { p.Height = MaxPictureSide + 1 }, nil, "pixels are not 1 to"},
		"factor":     {func(p *Picture) { p.Factor = 0 }, nil, "cells of 0 pixels"},
		"no levels":  {func(p *Picture) { p.Vocab = nil }, nil, "levels, not 0"},
		"vocabulary": {func(p *Picture) { p.Vocab = []uint32{0} }, nil, "vocabulary of 0 codes"},
		"codes":      {func(p *Picture) { p.Codes = p.Codes[:1] }, nil, "2 x 1 cells of 1 codes need 2 codes, not 1"},
		"outside":    {func(p *Picture) { p.Codes = []uint32{1, 5} }, nil, "column 1, level 0: code 5 is outside the vocabulary of 5"},
		"too many":   {func(p *Picture) { p.Width, p.Height, p.Factor = 1<<14, 1<<14, 1 }, nil, "more than 67108864 codes"},
		"pixels":     {func(p *Picture) { p.Width, p.Height, p.Factor = 1<<15, 1<<14, 1<<13 }, nil, "more than the 268435456 of any picture"},
		"model":      {func(*Picture) {}, m, "knows vocabularies of [32 16], the picture has [5]"},
	} {
		p := good
		test.change(&p)
		if _, err := Encode(new(bytes.Buffer), p, test.model); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if _, err := Encode(&brokenDisk{}, good, nil); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("a full disk: %v", err)
	}
}

func TestDecodeFindsDamage(t *testing.T) {
	vocab := []uint32{32, 16}
	m := trainTwoLevels(t, 1, vocab)
	p := Picture{Width: 20, Height: 20, Factor: 2, Vocab: vocab, Codes: twoLevels(rand.New(rand.NewPCG(6, 6)), vocab, 10, 10).Codes}
	good := checkRoundTrip(t, p, m)
	for i := range good {
		for bit := range 8 {
			content := bytes.Clone(good)
			content[i] ^= 1 << bit
			if _, err := Decode(bytes.NewReader(content), p.Fingerprint, m); err == nil {
				t.Errorf("bit %d of byte %d was flipped unnoticed", bit, i)
			}
		}
		if _, err := Decode(bytes.NewReader(good[:i]), p.Fingerprint, m); err == nil {
			t.Errorf("the first %d bytes were taken for all", i)
		}
	}
	sealed := func(content ...string) []byte { return appendSum([]byte(strings.Join(content, ""))) }
	id, plain := identity(p.Fingerprint, m), identity(p.Fingerprint, nil)
	other := trainTwoLevels(t, 2, vocab)
	for name, test := range map[string]struct {
		content     []byte
		fingerprint [32]byte
		model       *Model
		want        string
	}{
		"empty":     {nil, p.Fingerprint, m, "does not start with GVQI"},
		"packed":    {golden(), p.Fingerprint, m, "does not start with GVQI"},
		"short":     {[]byte("GVQI\x01"), p.Fingerprint, m, "truncated"},
		"newer":     {sealed("GVQI\x03"), p.Fingerprint, m, "format version 3"},
		"version 0": {sealed("GVQI\x00"), p.Fingerprint, m, "never existed"},
		"no header": {sealed("GVQI\x01"), p.Fingerprint, m, "header of the picture is damaged"},
		"no pixels": {sealed("GVQI\x01\x00\x01\x01\x01\x04", string(id[:])), p.Fingerprint, m, "0 x 1 pixels"},
		"no factor": {sealed("GVQI\x01\x01\x01\x00\x01\x04", string(id[:])), p.Fingerprint, m, "cells of 0 pixels"},
		"no levels": {sealed("GVQI\x01\x01\x01\x01\x00", string(id[:])), p.Fingerprint, m, "levels, not 0"},
		"many levels": {sealed("GVQI\x01\x01\x01\x01\xff\x7f", strings.Repeat("\x01", 300), string(id[:])), p.Fingerprint, m,
			"levels, not 257"},
		"long varint": {sealed("GVQI\x01\x81\x00\x01\x01\x01\x04", string(id[:])), p.Fingerprint, m, "header of the picture is damaged"},
		"huge varint": {sealed("GVQI\x01\xff\xff\xff\xff\x0f\x01\x01\x01\x04", string(id[:])), p.Fingerprint, m,
			"header of the picture is damaged"},
		"huge": {sealed("GVQI\x01\x80\x80\x80\x04\x80\x80\x80\x04\x01\x01\x04", string(id[:])), p.Fingerprint, m,
			"more than 67108864 codes"},
		"large cells": {sealed("GVQI\x01\x80\x80\x80\x04\x80\x80\x80\x04\x80\x80\x40\x01\x04", string(id[:])), p.Fingerprint, m,
			"more than the 268435456 of any picture"},
		"vocabulary": {sealed("GVQI\x01\x01\x01\x01\x01\x04", string(id[:])), p.Fingerprint, m, "the picture has [4]"},
		"ends early": {sealed("GVQI\x01\x40\x40\x01\x01\x04", string(plain[:]), "\x12"), p.Fingerprint, m,
			"its payload of 1 bytes does not hold level 0"},
		"method":            {sealed("GVQI\x01\x01\x01\x01\x01\x04", string(plain[:]), "\xf0"), p.Fingerprint, m, "does not hold level 0"},
		"another tokenizer": {good, [32]byte{1}, m, "another tokenizer"},
		"another model":     {good, p.Fingerprint, other, "another model"},
		"no model":          {good, p.Fingerprint, nil, "another model"},
	} {
		if _, err := Decode(bytes.NewReader(test.content), test.fingerprint, test.model); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if _, err := Decode(brokenReader{}, p.Fingerprint, m); err == nil || !strings.Contains(err.Error(), "cable cut") {
		t.Errorf("a broken reader: %v", err)
	}
	// A file written without a model can still be read.
	if got, err := Decode(bytes.NewReader(checkRoundTrip(t, p, nil)), p.Fingerprint, m); err != nil || !slices.Equal(got.Codes, p.Codes) {
		t.Errorf("a picture without a model: %v", err)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("cable cut") }

func TestModelServesManyAtOnce(t *testing.T) {
	vocab := []uint32{32, 16}
	m := trainTwoLevels(t, 1, vocab)
	p := Picture{Width: 16, Height: 16, Factor: 1, Vocab: vocab, Codes: twoLevels(rand.New(rand.NewPCG(6, 1)), vocab, 16, 16).Codes}
	want := checkRoundTrip(t, p, m)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				var out bytes.Buffer
				if _, err := Encode(&out, p, m); err != nil || !bytes.Equal(out.Bytes(), want) {
					t.Errorf("another file, %v", err)
				}
				if got, err := Decode(&out, p.Fingerprint, m); err != nil || !slices.Equal(got.Codes, p.Codes) {
					t.Errorf("other codes, %v", err)
				}
			}
		})
	}
	all.Wait()
}

// FuzzDecode checks that no file panics, and that a picture which was read is
// written and read alike. Checksum and identity are put right first, or the
// fuzzer would not get past them.
func FuzzDecode(f *testing.F) {
	vocab := []uint32{32, 16}
	m := trainTwoLevels(f, 1, vocab)
	p := Picture{Width: 20, Height: 20, Factor: 2, Vocab: vocab, Codes: twoLevels(rand.New(rand.NewPCG(6, 6)), vocab, 10, 10).Codes}
	for _, model := range []*Model{m, nil} {
		var out bytes.Buffer
		if _, err := Encode(&out, p, model); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes(), model != nil)
	}
	f.Add(appendSum([]byte("GVQI\x01\x01\x01\x01\x02\x20\x1001234567\xff\xff")), true)
	f.Add(appendSum([]byte("GVQI\x01\x10\x10\x01\x01\xff\xff\x0301234567\x10\x20\x30")), false)
	f.Fuzz(func(t *testing.T, content []byte, withModel bool) {
		content = slices.Clone(content)
		model := m
		if !withModel {
			model = nil
		}
		if len(content) < checksumBytes {
			return
		}
		reseal := func() {
			body := content[:len(content)-checksumBytes]
			binary.LittleEndian.PutUint32(content[len(body):], crc32.Checksum(body, castagnoli))
		}
		reseal()
		f, err := parseHeader(content)
		if err != nil || f.GridWidth()*f.GridHeight()*len(f.Vocab) > 1<<14 || slices.Max(f.Vocab) > 1<<16 {
			return
		}
		p := f.Picture
		id := identity(p.Fingerprint, model)
		copy(content[len(content)-checksumBytes-len(f.rest)-identityBytes:], id[:])
		reseal()
		if p, err = Decode(bytes.NewReader(content), p.Fingerprint, model); err != nil {
			return
		}
		checkRoundTrip(t, p, model)
	})
}
