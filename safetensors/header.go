package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// entry is the header's record of one tensor; its offsets are not checked yet.
type entry struct {
	name       string
	dtype      DType
	shape      []int
	begin, end int
}

// headerParser walks the header token by token. encoding/json alone would let
// the last of two equal names win silently.
type headerParser struct{ tokens *json.Decoder }

// parseHeader returns the tensors in the order of the header, and the metadata.
func parseHeader(header []byte) (entries []entry, metadata map[string]string, err error) {
	p := headerParser{json.NewDecoder(bytes.NewReader(header))}
	p.tokens.UseNumber()
	err = p.object("the header", func(name string) error {
		if name == metadataKey {
			metadata = map[string]string{}
			return p.object("the metadata", func(key string) (err error) {
				metadata[key], err = p.text(fmt.Sprintf("metadata %q", key))
				return err
			})
		}
		e, err := p.entry(name)
		entries = append(entries, e)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if _, err := p.tokens.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("the header goes on after its closing brace")
	}
	return entries, metadata, nil
}

func (p headerParser) entry(name string) (entry, error) {
	e := entry{name: name}
	fields := 0
	err := p.object(fmt.Sprintf("tensor %q", name), func(field string) (err error) {
		fields++
		where := fmt.Sprintf("%s of tensor %q", field, name)
		switch field {
		case "dtype":
			text, err := p.text(where)
			e.dtype = DType(text)
			return err
		case "shape":
			e.shape, err = p.integers(where)
			return err
		case "data_offsets":
			offsets, err := p.integers(where)
			if err != nil {
				return err
			}
			if len(offsets) != 2 {
				return fmt.Errorf("%s has %d numbers instead of 2", where, len(offsets))
			}
			e.begin, e.end = offsets[0], offsets[1]
			return nil
		}
		return fmt.Errorf("tensor %q has an unknown field %q", name, field)
	})
	if err == nil && fields != 3 { // they are unique and known, so one is absent
		err = fmt.Errorf("tensor %q lacks one of dtype, shape and data_offsets", name)
	}
	return e, err
}

// object reads a JSON object, calling value for each key to read its value;
// what names the object in errors.
func (p headerParser) object(what string, value func(key string) error) error {
	if err := p.open(what, '{', "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.tokens.More() {
		key, err := p.text("a key of " + what)
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("%s has %q twice", what, key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	_, err := p.next(what)
	return err
}

// integers reads a JSON array of whole numbers from 0. The result is never nil.
func (p headerParser) integers(what string) ([]int, error) {
	if err := p.open(what, '[', "a list"); err != nil {
		return nil, err
	}
	values := []int{}
	for p.tokens.More() {
		token, err := p.next(what)
		if err != nil {
			return nil, err
		}
		number, ok := token.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s holds %v, which is not a number", what, token)
		}
		value, err := strconv.Atoi(string(number))
		if err != nil || value < 0 {
			return nil, fmt.Errorf("%s holds %s, which is not a whole number from 0 to %d", what, number, math.MaxInt)
		}
		values = append(values, value)
	}
	_, err := p.next(what)
	return values, err
}

func (p headerParser) text(what string) (string, error) {
	token, err := p.next(what)
	if err != nil {
		return "", err
	}
	text, ok := token.(string)
	if !ok {
		return "", fmt.Errorf("%s is %v instead of a string", what, token)
	}
	return text, nil
}

func (p headerParser) open(what string, delimiter json.Delim, kind string) error {
	token, err := p.next(what)
	if err != nil {
		return err
	}
	if token != delimiter {
		return fmt.Errorf("%s is %v instead of %s", what, token, kind)
	}
	return nil
}

func (p headerParser) next(what string) (json.Token, error) {
	token, err := p.tokens.Token()
	if err != nil {
		return nil, fmt.Errorf("the header is not valid JSON at byte %d, in %s: %w", p.tokens.InputOffset(), what, err)
	}
	return token, nil
}
