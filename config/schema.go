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
	"strconv"
	"strings"
)

// Documented is a struct that describes keys whose texts are too long for tags.
type Documented interface {
	Docs() map[string]string // by key
}

// Enumerated is a struct that lists values registered at run time.
type Enumerated interface {
	Enums() map[string][]string // by key
}

// Obsolete is a struct that lost keys; Decode ignores them in files of earlier versions.
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

// isObsolete tells whether struct type t, or a struct inlined in it, had this key.
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

var wordings = map[reflect.Kind]string{
	reflect.Bool: "true or false", reflect.String: "a string", reflect.Float32: "a number", reflect.Float64: "a number",
	reflect.Slice: "a list", reflect.Struct: "a map of keys",
}

// wording words the form of a value of type t.
func wording(t reflect.Type) string { return cmp.Or(wordings[t.Kind()], "a whole number") }

// Check reports the first value of a struct that its tags forbid: a text outside
// its enum, a number less than min or not less than below. Decode checks enums
// itself; a program may set anything. key is the struct's own, such as "model", or
// empty.
func Check(v any, key string) error {
	value, err := source(v)
	if err != nil {
		return err
	}
	fields, err := fieldsOf(value.Type())
	if err != nil {
		return err
	}
	for _, f := range fields {
		name, x := strings.TrimPrefix(key+"."+f.key, "."), value.FieldByIndex(f.index)
		switch {
		case x.Kind() == reflect.Struct:
			err = Check(x.Interface(), name)
		case f.enum != nil && x.Kind() == reflect.String && !slices.Contains(f.enum, x.String()):
			err = fmt.Errorf("%s: unknown value %q, use one of %s", name, x, listEnum(f.enum))
		case x.CanInt():
			err = limits(name, float64(x.Int()), value.Type().FieldByIndex(f.index).Tag)
		case x.CanFloat():
			err = limits(name, x.Float(), value.Type().FieldByIndex(f.index).Tag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// limits compares a number with the tags min and below.
func limits(name string, x float64, tag reflect.StructTag) error {
	min, bounded := tag.Lookup("min")
	if !bounded {
		return nil
	}
	least, err := strconv.ParseFloat(min, 64)
	if err != nil {
		return fmt.Errorf("%s has the tag min:%q: %w", name, min, err)
	}
	text := "at least " + min
	below, limited := tag.Lookup("below")
	most, err := strconv.ParseFloat(below, 64)
	if limited && err != nil {
		return fmt.Errorf("%s has the tag below:%q: %w", name, below, err)
	}
	if limited {
		text += " and below " + below
	}
	if !(x >= least) || limited && !(x < most) {
		return fmt.Errorf("%s: %g must be %s", name, x, text)
	}
	return nil
}
