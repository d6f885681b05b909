package codes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// maxPictureBytes is more than any picture file has.
const maxPictureBytes = MaxPictureCodes*5/2 + 1<<16

// check fails on sizes that no picture file has; the codes are not looked at.
func (p Picture) check() error {
	if p.Width <= 0 || p.Height <= 0 || p.Width > MaxPictureSide || p.Height > MaxPictureSide {
		return fmt.Errorf("%d x %d pixels are not 1 to %d each way", p.Width, p.Height, MaxPictureSide)
	}
	if p.Factor <= 0 || p.Factor > MaxPictureSide {
		return fmt.Errorf("cells of %d pixels are not 1 to %d wide", p.Factor, MaxPictureSide)
	}
	if err := checkVocab(p.Vocab); err != nil {
		return err
	}
	if p.GridHeight() > MaxPictureCodes/p.GridWidth()/len(p.Vocab) {
		return fmt.Errorf("%d x %d cells of %d codes are more than %d codes", p.GridWidth(), p.GridHeight(), len(p.Vocab), MaxPictureCodes)
	}
	if p.Height > MaxPicturePixels/p.Width {
		return fmt.Errorf("%d x %d pixels are more than the %d of any picture", p.Width, p.Height, MaxPicturePixels)
	}
	return nil
}

func checkVocab(vocab []uint32) error {
	if len(vocab) == 0 || len(vocab) > MaxPictureLevels {
		return fmt.Errorf("a picture has 1 to %d levels, not %d", MaxPictureLevels, len(vocab))
	}
	for level, k := range vocab {
		if k == 0 || k > MaxPictureVocab {
			return fmt.Errorf("level %d has a vocabulary of %d codes, not of 1 to %d", level, k, MaxPictureVocab)
		}
	}
	return nil
}

// header returns the file up to the identity.
func (p Picture) header(version byte, id [identityBytes]byte) []byte {
	out := append([]byte(PictureMagic), version)
	for _, n := range []int{p.Width, p.Height, p.Factor, len(p.Vocab)} {
		out = binary.AppendUvarint(out, uint64(n))
	}
	for _, k := range p.Vocab {
		out = binary.AppendUvarint(out, uint64(k))
	}
	return append(out, id[:]...)
}

// readPicture reads a file whole, up to more than any has.
func readPicture(r io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, maxPictureBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading a picture: %w", err)
	}
	if len(content) > maxPictureBytes {
		return nil, fmt.Errorf("the file has more than the %d bytes of any picture", maxPictureBytes)
	}
	return content, nil
}

// pictureFrame is a file whose checksum is right.
type pictureFrame struct {
	Picture // without codes
	version byte
	id      [identityBytes]byte
	rest    []byte // behind the identity
}

// parseHeader checks a file's frame and returns its parts.
func parseHeader(content []byte) (p pictureFrame, err error) {
	if len(content) < len(PictureMagic) || string(content[:len(PictureMagic)]) != PictureMagic {
		return p, fmt.Errorf("not a picture of codes: it does not start with %s", PictureMagic)
	}
	if len(content) < len(PictureMagic)+1+checksumBytes {
		return p, fmt.Errorf("the picture is truncated: %d bytes are less than its header", len(content))
	}
	if version := content[len(PictureMagic)]; version > predictedVersion {
		return p, fmt.Errorf("the picture has format version %d, this program reads up to %d: use a newer one", version, predictedVersion)
	}
	body, sum := content[:len(content)-checksumBytes], binary.LittleEndian.Uint32(content[len(content)-checksumBytes:])
	if crc32.Checksum(body, castagnoli) != sum {
		return p, errors.New("the picture is damaged or truncated: its checksum does not match")
	}
	if content[len(PictureMagic)] == 0 {
		return p, errors.New("the picture has format version 0, which never existed")
	}
	rest := body[len(PictureMagic)+1:]
	number := func() int {
		n, length := binary.Uvarint(rest)
		if length <= 0 || n > MaxPictureSide || length > 1 && rest[length-1] == 0 {
			rest = nil
			return 0
		}
		rest = rest[length:]
		return int(n)
	}
	p.Width, p.Height, p.Factor = number(), number(), number()
	for range min(number(), MaxPictureLevels+1) {
		p.Vocab = append(p.Vocab, uint32(number()))
	}
	if len(rest) < identityBytes {
		return p, errors.New("the header of the picture is damaged")
	}
	if err := p.check(); err != nil {
		return p, fmt.Errorf("the header of the picture is damaged: %w", err)
	}
	p.version, p.id, p.rest = content[len(PictureMagic)], [identityBytes]byte(rest), rest[identityBytes:]
	return p, nil
}
