// Package seal puts a checksum into JSON objects, as their last member, so that damage to any bit of a file is noticed.
// Sealed objects are plain JSON for every other reader.
package seal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/memory"
)

// Key is the name of the member that holds the checksum: the SHA-256 of all bytes before its value.
const Key = "sha256"

const (
	before = `"` + Key + `": "`
	after  = "\"\n}\n"
	digits = 2 * sha256.Size
)

// Causes of errors of Check.
var (
	ErrUnsealed = errors.New("it has no checksum")
	ErrDamaged  = errors.New("its checksum is not that of its content")
)

// Add returns a JSON object with its checksum. The object must have members, and none of that name.
func Add(object []byte) ([]byte, error) {
	object = bytes.TrimSpace(object)
	body, ok := bytes.CutSuffix(object, []byte("}"))
	body = bytes.TrimRight(body, " \t\r\n")
	if !ok || len(body) < 2 {
		return nil, fmt.Errorf("%.20q cannot be sealed: it is no JSON object with members", object)
	}
	content := append(bytes.Clone(body), ",\n  "+before...)
	sum := sha256.Sum256(content)
	content = hex.AppendEncode(content, sum[:])
	return append(content, after...), nil
}

// Renew returns an object that was changed after it was sealed with the checksum of its present content. Tests use it to
// tell other checks from that of the checksum. Content without a checksum stays as it is.
func Renew(content []byte) []byte {
	body, ok := bytes.CutSuffix(content, []byte(after))
	if !ok || len(body) < digits {
		return content
	}
	body, ok = bytes.CutSuffix(body[:len(body)-digits], []byte(",\n  "+before))
	if renewed, err := Add(append(bytes.Clone(body), '}')); ok && err == nil {
		return renewed
	}
	return content
}

// Check compares the content of a file with its checksum. It returns ErrUnsealed for content that does not end with one.
func Check(content []byte) error {
	rest, ok := bytes.CutSuffix(content, []byte(after))
	if !ok || len(rest) < digits+len(before) {
		return ErrUnsealed
	}
	body, want := rest[:len(rest)-digits], rest[len(rest)-digits:]
	if !bytes.HasSuffix(body, []byte(before)) {
		return ErrUnsealed
	}
	if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != string(want) {
		return ErrDamaged
	}
	return nil
}

// Verify compares the content of a file with its checksum. Objects from before there were checksums pass if v, a pointer to
// a struct, knows all their members: a flip in the name of the checksum's member is noticed too.
func Verify(content []byte, v any) error {
	err := Check(content)
	if !errors.Is(err, ErrUnsealed) {
		return err
	}
	known := reflect.New(reflect.TypeOf(v).Elem()).Interface()
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(known); err != nil {
		return fmt.Errorf("it has no checksum, and this version knows no such content: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return ErrUnsealed
	}
	return nil
}

// WriteFile stores v, a struct or map with members, as a sealed object.
func WriteFile(path string, v any) error {
	content, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		content, err = Add(content)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// ReadFile reads what WriteFile wrote. It fails on damage and on objects without a checksum.
func ReadFile(path string, v any) error {
	content, err := memory.ReadFile(path)
	if err != nil {
		return err
	}
	if err := Check(content); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	if err := json.Unmarshal(content, v); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	return nil
}
