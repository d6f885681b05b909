// Package finitejson writes structs of scores as JSON, which has neither NaN nor
// infinity: such numbers become null, and null is read as NaN.
package finitejson

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
)

// Marshal is json.Marshal for a struct; float64 fields, also in embedded and nested
// structs and in slices, become null if they are not finite.
func Marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	err := write(&out, reflect.ValueOf(v))
	return out.Bytes(), err
}

func write(out *bytes.Buffer, v reflect.Value) error {
	_, marshals := v.Interface().(json.Marshaler)
	switch {
	case v.Kind() == reflect.Float64 && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)):
		out.WriteString("null")
		return nil
	case v.Kind() == reflect.Struct && !marshals:
		out.WriteByte('{')
		if err := writeFields(out, v); err != nil {
			return err
		}
		out.WriteByte('}')
		return nil
	case v.Kind() == reflect.Slice && !v.IsNil() && v.Type().Elem().Kind() == reflect.Float64:
		out.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := write(out, v.Index(i)); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	text, err := json.Marshal(v.Interface())
	out.Write(text)
	return err
}

// writeFields writes the members of an object; an embedded struct adds its own.
func writeFields(out *bytes.Buffer, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			if err := writeFields(out, v.Field(i)); err != nil {
				return err
			}
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || strings.Contains(options, "omitempty") && v.Field(i).IsZero() {
			continue
		}
		if last := out.Bytes()[out.Len()-1]; last != '{' {
			out.WriteByte(',')
		}
		out.WriteString(`"` + name + `":`)
		if err := write(out, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

// Unmarshal is json.Unmarshal into a pointer to a struct; float64 fields that are
// null or absent become NaN.
func Unmarshal(content []byte, into any) error {
	fill(reflect.ValueOf(into).Elem())
	return json.Unmarshal(content, into)
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		v.SetFloat(math.NaN())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}
