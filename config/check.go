package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

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
