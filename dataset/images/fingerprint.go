package images

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Above fingerprintBytes of files, fingerprintFiles of them are sampled, and
// of each at most fingerprintHead bytes.
const (
	fingerprintBytes = 64 << 20
	fingerprintFiles = 256
	fingerprintHead  = 1 << 20
)

func (a *archive) fingerprint() (string, error) {
	total := int64(0)
	for _, m := range a.members {
		total += m.size
	}
	read := len(a.members)
	prefix := "sha256:"
	if total > fingerprintBytes {
		prefix, read = "sha256-sampled:", min(read, fingerprintFiles)
	}
	hash := sha256.New()
	io.WriteString(hash, "gritvq pictures 1\n")
	number := func(n int64) { hash.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) }
	number(int64(len(a.members)))
	for _, m := range a.members {
		number(int64(len(m.name)))
		io.WriteString(hash, m.name)
		number(m.size)
	}
	for i := range read {
		row := i
		if prefix != "sha256:" && read > 1 {
			row = i * (len(a.members) - 1) / (read - 1)
		}
		content, err := a.content(row)
		if disk, ok := errors.AsType[*fs.PathError](err); ok {
			return "", fmt.Errorf("reading %s of %s: %w", a.members[row].name, a.path, disk)
		}
		if prefix != "sha256:" {
			content = content[:min(len(content), fingerprintHead)]
		}
		digest := sha256.Sum256(content)
		hash.Write(digest[:])
	}
	return prefix + hex.EncodeToString(hash.Sum(nil)), nil
}

func (s *scenes) fingerprint() (string, error) {
	digest := sha256.Sum256(fmt.Appendf(nil, "gritvq scenes %d: %d pictures of %d, seed %d\n", scenesVersion, s.images, s.size, s.seed))
	return "sha256:" + hex.EncodeToString(digest[:]), nil
}
