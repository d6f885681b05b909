package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decode reads a YAML document into the struct that into points to. Absent keys
// and empty sections keep the values already there; an empty list becomes a nil
// slice. An unknown or repeated key, a value of the wrong type or outside its enum,
// YAML aliases and explicit tags are errors that name the key and the line; after
// an error into is unchanged.
func Decode(document []byte, into any) error {
	return decoder{lines: true}.document(document, into)
}

// DecodePart is [Decode] for a struct that has only some of the document's
// top-level keys; the others are skipped.
func DecodePart(document []byte, into any) error {
	return decoder{lines: true, part: true}.document(document, into)
}

func (d decoder) document(document []byte, into any) error {
	root, err := target(into)
	if err != nil {
		return err
	}
	node, err := parse(document)
	if err != nil || node == nil {
		return err
	}
	d.root = root.Type()
	return d.whole(root, func(v reflect.Value) error { return d.structure(node, v, "") })
}

// parse returns the value of the only document, nil when there is none.
func parse(document []byte) (*yaml.Node, error) {
	documents := yaml.NewDecoder(bytes.NewReader(document))
	var first, second yaml.Node
	if err := documents.Decode(&first); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, syntaxError(err)
	}
	if err := documents.Decode(&second); err == nil {
		return nil, fmt.Errorf("a second document starts at line %d: a configuration is one document", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxError(err)
	}
	if len(first.Content) == 0 {
		return nil, nil
	}
	return first.Content[0], nil
}

func syntaxError(err error) error {
	return fmt.Errorf("not valid YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
}

// decoder carries the context of error messages.
type decoder struct {
	root  reflect.Type
	lines bool // nodes come from a file, so their lines mean something
	part  bool // unknown top-level keys are skipped
}

// whole runs fill on a copy of v and keeps the copy only when it succeeds.
// Slices are always replaced, never written through, so the copy is complete.
func (d decoder) whole(v reflect.Value, fill func(reflect.Value) error) error {
	replica := reflect.New(v.Type()).Elem()
	replica.Set(v)
	if err := fill(replica); err != nil {
		return err
	}
	v.Set(replica)
	return nil
}

func (d decoder) at(node *yaml.Node) string {
	if !d.lines {
		return ""
	}
	return fmt.Sprintf(" at line %d", node.Line)
}

// structure decodes a map node into struct v, whose dotted path is key.
func (d decoder) structure(node *yaml.Node, v reflect.Value, key string) error {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" && node.Style&yaml.TaggedStyle == 0 {
		return nil
	}
	if node.Kind != yaml.MappingNode || node.Style&yaml.TaggedStyle != 0 {
		return d.wrongType(node, key, wording(v.Type()))
	}
	fields, err := fieldsOf(v.Type())
	if err != nil {
		return err
	}
	prefix := strings.TrimPrefix(key+".", ".")
	lines := map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		if name.Kind != yaml.ScalarNode {
			return fmt.Errorf("a key%s is %s: keys are plain words", d.at(name), describe(name))
		}
		f, known := lookup(fields, name.Value)
		if !known && (d.part && key == "" || isObsolete(v.Type(), name.Value)) {
			continue
		}
		if !known {
			return unknownKey(d.root, v.Type(), prefix, name.Value, "", d.at(name))
		}
		if first, repeated := lines[name.Value]; repeated {
			err := fmt.Errorf("key %q%s is given twice", prefix+name.Value, d.at(name))
			if d.lines {
				err = fmt.Errorf("%w: it is already at line %d", err, first)
			}
			return err
		}
		lines[name.Value] = name.Line
		if err := d.value(value, v.FieldByIndex(f.index), prefix+f.key, f.enum); err != nil {
			return err
		}
	}
	return nil
}

// value decodes a node into v, whose dotted path is key.
func (d decoder) value(node *yaml.Node, v reflect.Value, key string, enum []string) error {
	switch v.Kind() {
	case reflect.Struct:
		return d.structure(node, v, key)
	case reflect.Slice:
		if node.Kind != yaml.SequenceNode || node.Style&yaml.TaggedStyle != 0 {
			return d.wrongType(node, key, "a list such as [a, b]")
		}
		return d.list(v, key, len(node.Content), func(i int, element reflect.Value, key string) error {
			return d.value(node.Content[i], element, key, enum)
		})
	}
	return d.scalar(node, v, key, enum)
}

// list replaces slice v by n elements that fill provides.
func (d decoder) list(v reflect.Value, key string, n int, fill func(i int, element reflect.Value, key string) error) error {
	if n == 0 {
		v.SetZero()
		return nil
	}
	list := reflect.MakeSlice(v.Type(), n, n)
	for i := range n {
		if err := fill(i, list.Index(i), fmt.Sprintf("%s[%d]", key, i)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

func (d decoder) wrongType(node *yaml.Node, key, wanted string) error {
	if key == "" {
		return fmt.Errorf("the configuration%s is %s, wanted %s", d.at(node), describe(node), wanted)
	}
	return fmt.Errorf("key %q%s: got %s, wanted %s", key, d.at(node), describe(node), wanted)
}

// describe words the content of a node.
func describe(node *yaml.Node) string {
	if node.Style&yaml.TaggedStyle != 0 {
		return fmt.Sprintf("the explicit tag %s, which is not supported", node.Tag)
	}
	switch node.Kind {
	case yaml.AliasNode:
		return fmt.Sprintf("the alias *%s, which is not supported", node.Value)
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a map of keys"
	}
	text := node.Value
	if runes := []rune(text); len(runes) > 40 {
		text = string(runes[:40]) + "..."
	}
	switch node.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int":
		return "the whole number " + text
	case "!!float":
		return "the number " + text
	case "!!bool":
		return text
	}
	return fmt.Sprintf("the string %q", text)
}
