package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"
	"slices"
)

// Hash returns the hexadecimal SHA-256 of the keys and values in v, a struct or a
// pointer to one, independent of the order of fields. An empty list counts as nil.
func Hash(v any) (string, error) {
	value, err := source(v)
	if err != nil {
		return "", err
	}
	digest := sha256.New()
	if err := canonical(digest, value); err != nil {
		return "", err
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// canonical writes v with keys sorted and every string quoted, so that no two
// different values give the same text.
func canonical(w io.Writer, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Struct:
		fields, err := fieldsOf(v.Type())
		if err != nil {
			return err
		}
		slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.key, b.key) })
		io.WriteString(w, "{")
		for _, f := range fields {
			fmt.Fprintf(w, "%q:", f.key)
			if err := canonical(w, v.FieldByIndex(f.index)); err != nil {
				return err
			}
			io.WriteString(w, ",")
		}
		io.WriteString(w, "}")
	case reflect.Slice:
		io.WriteString(w, "[")
		for i := range v.Len() {
			if err := canonical(w, v.Index(i)); err != nil {
				return err
			}
			io.WriteString(w, ",")
		}
		io.WriteString(w, "]")
	case reflect.String:
		fmt.Fprintf(w, "%q", v.String())
	default:
		text, err := flow(v, "", nil)
		io.WriteString(w, text)
		return err
	}
	return nil
}
