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
// Texts that a tag cannot hold come from methods of the struct: see [Documented],
// [Enumerated] and [Obsolete].
//
// The struct's value before decoding holds the defaults. A mistake in the file is an
// error that names the key, the line and the likely intention.
package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// field is one key of a struct.
type field struct {
	index []int // of reflect's FieldByIndex
	key   string
	doc   string
	enum  []string // nil: any value
}

// fieldsOf lists the keys of struct type t in the order of its fields. Without a
// yaml tag the key is the name in lower case; unexported fields and those tagged
// "-" are left out.
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
		key = cmp.Or(key, strings.ToLower(source.Name))
		f := field{index: source.Index, key: key, doc: cmp.Or(docs[key], source.Tag.Get("doc")), enum: enums[key]}
		if enum, ok := source.Tag.Lookup("enum"); ok {
			f.enum = strings.Split(enum, "|")
		}
		kind := scalarKind(source.Type)
		if f.enum != nil && kind != reflect.String {
			return nil, fmt.Errorf("field %s.%s has an enum but holds %s: only strings can have one", t, source.Name, source.Type)
		}
		if !supported(kind) {
			return nil, fmt.Errorf("field %s.%s has type %s, which configuration does not support", t, source.Name, source.Type)
		}
		fields = append(fields, f)
	}
	for i, f := range fields {
		if _, repeated := lookup(fields[:i], f.key); repeated {
			return nil, fmt.Errorf("two fields of %s have the key %q", t, f.key)
		}
	}
	return fields, nil
}

func lookup(fields []field, key string) (field, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
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

// scalarKind is the kind of t or of the elements of its slices.
func scalarKind(t reflect.Type) reflect.Kind {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind()
}

func supported(kind reflect.Kind) bool {
	number := kind >= reflect.Int && kind <= reflect.Float64 && kind != reflect.Uintptr
	return number || kind == reflect.Bool || kind == reflect.String || kind == reflect.Struct
}
