package codes

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Predictor tells how probable codes are, one code after the other, in place of a Model. Its probabilities may come from
// arithmetic that rounds differently elsewhere: a file names the machine, and other machines refuse it.
//
// A file of a picture has format version 2. Its identity is of the tokenizer and the predictor together. Between identity and
// payload it holds
//
//	varint  length of the machine's name
//	...     the name
//	4       CRC-32C of the codes, four bytes each, little-endian
//
// The payload has a symbol for every code, in the predictor's order, with its weights as probabilities. The checksum of the codes
// tells of probabilities that differ in spite of the same name.
type Predictor interface {
	// Identity is a checksum of what predicts.
	Identity() [sha256.Size]byte
	// Machine names what the last bits of its arithmetic depend on.
	Machine() string
	// Walk visits the codes of a grid, each once, in an order that depends on its size alone. Visit is told the place of a code
	// in grid.Codes and the weights of all codes there, each at least 1, with a sum below 2^32; after it the code is in
	// place. Weights depend on codes already visited only.
	Walk(ctx context.Context, grid CodeMap, visit func(at int, weights []uint32) error) error
}

// errOtherProbabilities is of files whose own checksum is right.
var errOtherProbabilities = errors.New("the codes do not match their checksum: the program that encoded the picture computed other " +
	"probabilities with this prior: decode it with that version")

// maxMachine bounds the length of a machine's name.
const maxMachine = 100

// EncodePredicted writes a picture to w with the probabilities of a predictor. DecodePredicted needs the same one, and a
// machine of the same name.
func EncodePredicted(ctx context.Context, w io.Writer, p Picture, m Predictor) (Bits, error) {
	err := p.check()
	grid := CodeMap{Height: p.GridHeight(), Width: p.GridWidth(), Codes: p.Codes}
	if err == nil {
		err = grid.check(p.Vocab)
	}
	if err != nil {
		return Bits{}, fmt.Errorf("the picture cannot be encoded: %w", err)
	}
	e := newRangeEncoder()
	seen := CodeMap{Height: grid.Height, Width: grid.Width, Codes: make([]uint32, len(grid.Codes))} // as the decoder's fills
	err = m.Walk(ctx, seen, func(at int, weights []uint32) error {
		code := grid.Codes[at]
		seen.Codes[at] = code
		start, total := below(weights, int(code))
		e.symbol(start, weights[code], total)
		return nil
	})
	if err != nil {
		return Bits{}, err
	}
	out := p.header(predictedVersion, predictedIdentity(p.Fingerprint, m))
	machine := m.Machine()
	out = append(binary.AppendUvarint(out, uint64(len(machine))), machine...)
	out = binary.LittleEndian.AppendUint32(out, codesSum(grid.Codes))
	size := Bits{Header: 8 * (len(out) + checksumBytes)}
	out = append(out, e.finish()...)
	out = binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
	size.Payload = 8*len(out) - size.Header
	if _, err := w.Write(out); err != nil {
		return Bits{}, fmt.Errorf("writing a picture: %w", err)
	}
	return size, nil
}

// DecodePredicted reads a picture that EncodePredicted wrote. It fails on damage, on other files, on those of other
// tokenizers, predictors and machines, and where probabilities differ from those of the encoder.
func DecodePredicted(ctx context.Context, r io.Reader, fingerprint [32]byte, m Predictor) (Picture, error) {
	content, err := readPicture(r)
	if err != nil {
		return Picture{}, err
	}
	f, err := parseHeader(content)
	if err != nil {
		return Picture{}, err
	}
	if f.version != predictedVersion {
		return Picture{}, errors.New("the picture was encoded without a prior: leave --prior out")
	}
	if f.id != predictedIdentity(fingerprint, m) {
		return Picture{}, errors.New("the picture belongs to another tokenizer or another prior: decode it with those that encoded it")
	}
	machine, sum, payload, err := f.predicted()
	if err != nil {
		return Picture{}, err
	}
	if own := m.Machine(); machine != own {
		return Picture{}, fmt.Errorf("the picture was encoded on %s, and this is %s, which rounds the prior's probabilities differently: "+
			"decode it on a machine like the first", machine, own)
	}
	p := f.Picture
	p.Fingerprint = fingerprint
	grid, err := p.grid()
	if err != nil {
		return Picture{}, err
	}
	d := newRangeDecoder(payload)
	err = m.Walk(ctx, grid, func(at int, weights []uint32) error {
		_, total := below(weights, 0)
		place := d.find(total)
		code, start := 0, uint32(0)
		for ; place-start >= weights[code]; code++ {
			start += weights[code]
		}
		d.take(start, weights[code], total)
		grid.Codes[at] = uint32(code)
		if d.exhausted() {
			return errOtherProbabilities
		}
		return nil
	})
	if err != nil {
		return Picture{}, err
	}
	if codesSum(grid.Codes) != sum {
		return Picture{}, errOtherProbabilities
	}
	p.Codes = grid.Codes
	return p, nil
}

// predicted returns what a file of version 2 has behind its identity.
func (f pictureFrame) predicted() (machine string, sum uint32, payload []byte, err error) {
	length, size := binary.Uvarint(f.rest)
	if size <= 0 || length > maxMachine || len(f.rest) < size+int(length)+checksumBytes {
		return "", 0, nil, errors.New("the header of the picture is damaged")
	}
	rest := f.rest[size:]
	machine, rest = string(rest[:length]), rest[length:]
	return machine, binary.LittleEndian.Uint32(rest), rest[checksumBytes:], nil
}

// below returns the sum of the weights of the codes below a code, and of all.
func below(weights []uint32, code int) (start, total uint32) {
	for _, w := range weights[:code] {
		start += w
	}
	total = start
	for _, w := range weights[code:] {
		total += w
	}
	return start, total
}

func codesSum(all []uint32) uint32 {
	content := make([]byte, 0, 4*len(all))
	for _, code := range all {
		content = binary.LittleEndian.AppendUint32(content, code)
	}
	return crc32.Checksum(content, castagnoli)
}

// predictedIdentity hashes a tokenizer's fingerprint and a predictor.
func predictedIdentity(fingerprint [32]byte, m Predictor) [identityBytes]byte {
	own := m.Identity()
	hash := sha256.New()
	hash.Write([]byte("predicted"))
	hash.Write(fingerprint[:])
	hash.Write(own[:])
	return [identityBytes]byte(hash.Sum(nil))
}
