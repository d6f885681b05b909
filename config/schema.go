// Package config turns strict YAML into plain structs and back.
//
// It knows no keys of its own. A configuration is any struct whose fields are
// strings, numbers, booleans, slices and nested structs, described by tags:
//
//	Rank int    `yaml:"rank" doc:"rank of the transform"`
//	Kind string `yaml:"kind" doc:"how codes are mapped" enum:"identity|linear"`
//
// The keys of a struct tagged yaml:",inline" are keys of the struct around it.
//
// Texts that a tag cannot hold come from methods of the struct: [Documented] gives
// long descriptions, [Enumerated] values that are registered at run time,
// [Obsolete] keys of earlier versions.
//
// The struct's value before decoding holds the defaults. Whatever a reader of
// the file could have meant but did not write exactly is an error that names
// the key, the line and the likely intention.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Documented is a struct that describes keys whose texts are too long for tags.
type Documented interface {
	Docs() map[string]string // by key
}

// Enumerated is a struct that lists the values of keys whose values are
// registered at run time.
type Enumerated interface {
	Enums() map[string][]string // by key
}

// Obsolete is a struct that lost keys. Decode ignores them and their values, so
// that files of earlier versions can be read.
type Obsolete interface {
	ObsoleteKeys() []string
}

// field is one key of a struct.
type field struct {
	index []int // of reflect's FieldByIndex
	key   string
	doc   string
	enum  []string // nil: any value
}

// fieldsOf lists the keys of struct type t in the order of its fields. A
// field without a yaml tag is known by its name in lower case; unexported
// fields and those tagged "-" are left out.
func fieldsOf(t reflect.Type) ([]field, error) {
	var fields []field
	var docs map[string]string
	var enums map[string][]string
	zero := reflect.Zero(t).Interface()
	if d, ok := zero.(Documented); ok {
		docs = d.Docs()
	}
	if e, ok := zero.(Enumerated); ok {
		enums = e.Enums()
	}
	for i := range t.NumField() {
		source := t.Field(i)
		key, options, _ := strings.Cut(source.Tag.Get("yaml"), ",")
		if !source.IsExported() || key == "-" {
			continue
		}
		if options == "inline" {
			inlined, err := inlinedFields(t, source)
			if err != nil {
				return nil, err
			}
			for _, f := range inlined {
				f.doc = cmp.Or(docs[f.key], f.doc) // the struct around may know better
				fields = append(fields, f)
			}
			continue
		}
		if key == "" {
			key = strings.ToLower(source.Name)
		}
		f := field{index: source.Index, key: key, doc: cmp.Or(docs[key], source.Tag.Get("doc")), enum: enums[key]}
		if enum, ok := source.Tag.Lookup("enum"); ok {
			f.enum = strings.Split(enum, "|")
		}
		if f.enum != nil {
			if scalarType(source.Type).Kind() != reflect.String {
				return nil, fmt.Errorf("field %s.%s has an enum but holds %s: only strings can have one", t, source.Name, source.Type)
			}
		}
		if !supported(scalarType(source.Type).Kind()) {
			return nil, fmt.Errorf("field %s.%s has type %s, which configuration does not support", t, source.Name, source.Type)
		}
		fields = append(fields, f)
	}
	seen := map[string]bool{}
	for _, f := range fields {
		if seen[f.key] {
			return nil, fmt.Errorf("two fields of %s have the key %q", t, f.key)
		}
		seen[f.key] = true
	}
	return fields, nil
}

// inlinedFields lists the keys of a struct inside t whose keys are keys of t.
func inlinedFields(t reflect.Type, inside reflect.StructField) ([]field, error) {
	if inside.Type.Kind() != reflect.Struct {
		return nil, fmt.Errorf("field %s.%s is tagged inline but holds %s: only a struct has keys", t, inside.Name, inside.Type)
	}
	fields, err := fieldsOf(inside.Type)
	for i := range fields {
		fields[i].index = slices.Concat(inside.Index, fields[i].index)
	}
	return fields, err
}

// isObsolete says whether key is one that struct type t, or a struct inlined in it,
// had once.
func isObsolete(t reflect.Type, key string) bool {
	if o, ok := reflect.Zero(t).Interface().(Obsolete); ok && slices.Contains(o.ObsoleteKeys(), key) {
		return true
	}
	for i := range t.NumField() {
		inside := t.Field(i)
		if inside.IsExported() && inside.Tag.Get("yaml") == ",inline" && isObsolete(inside.Type, key) {
			return true
		}
	}
	return false
}

// scalarType strips the slices off t.
func scalarType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t
}

func supported(kind reflect.Kind) bool {
	switch kind {
	case reflect.Bool, reflect.String, reflect.Struct, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// target returns the struct that into points to.
func target(into any) (reflect.Value, error) {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, fmt.Errorf("a configuration is decoded into a pointer to a struct, not into %T", into)
	}
	return v.Elem(), nil
}

// source returns the struct v is or points to.
func source(v any) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	if value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if value.Kind() != reflect.Struct {
		return reflect.Value{}, fmt.Errorf("a configuration is a struct or a pointer to one, not %T", v)
	}
	return value, nil
}

// wording words the form of a value of type t.
func wording(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct:
		return "a map of keys"
	}
	return "a whole number"
}

// dottedKeys lists every key below struct type t, sections included; lists
// are not entered.
func dottedKeys(t reflect.Type, prefix string) []string {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil
	}
	var keys []string
	for _, f := range fields {
		keys = append(keys, prefix+f.key)
		if below := t.FieldByIndex(f.index).Type; below.Kind() == reflect.Struct {
			keys = append(keys, dottedKeys(below, prefix+f.key+".")...)
		}
	}
	return keys
}

// unknownKey words the error for name, which is no key of struct type t. The
// path to t is prefix ("" or ending in a dot) and root is the whole
// configuration's type; rest is the part of a dotted key after name.
func unknownKey(root, t reflect.Type, prefix, name, rest, where string) error {
	fields, err := fieldsOf(t)
	if err != nil {
		return err
	}
	var siblings []string
	for _, f := range fields {
		siblings = append(siblings, f.key)
	}
	problem := fmt.Sprintf("unknown key %q%s", prefix+name+rest, where)
	everywhere := dottedKeys(root, "")
	if near := Nearest(name, siblings); near != "" {
		suggestion := prefix + near
		if slices.Contains(everywhere, suggestion+rest) {
			suggestion += rest
		}
		return fmt.Errorf("%s: did you mean %q?", problem, suggestion)
	}
	for _, key := range everywhere {
		if rest == "" && key == prefix+name {
			return fmt.Errorf("%s: nest it under its section instead of writing it with dots", problem)
		}
		if strings.HasSuffix(key, "."+name) {
			return fmt.Errorf("%s: did you mean %q?", problem, key)
		}
	}
	if len(siblings) == 0 {
		return errors.New(problem)
	}
	return fmt.Errorf("%s: the keys here are %s", problem, strings.Join(siblings, ", "))
}
