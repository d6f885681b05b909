package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Set applies one assignment "a.b=value" to the struct that into points to. The
// value is YAML, but a string needs no quotes and a list no brackets, as in
// 512,256. Errors are as in [Decode], without a line; after an error into is
// unchanged.
func Set(into any, assignment string) error {
	root, err := target(into)
	if err != nil {
		return err
	}
	key, value, found := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	if !found || key == "" {
		return fmt.Errorf("cannot set %q: write it as key=value, such as section.name=3", assignment)
	}
	d := decoder{root: root.Type()}
	return d.whole(root, func(v reflect.Value) error {
		place, f, err := d.find(v, key)
		if err != nil {
			return err
		}
		return d.assign(place, key, strings.TrimSpace(value), f.enum)
	})
}

// Get returns the value of a key as [Set] takes it.
func Get(v any, key string) (string, error) {
	root, err := source(v)
	if err != nil {
		return "", err
	}
	place, f, err := decoder{root: root.Type()}.find(root, key)
	if err != nil {
		return "", err
	}
	return flow(place, key, f.enum)
}

// Mentions reports whether a YAML document sets the key.
func Mentions(document []byte, key string) bool {
	var tree any
	if yaml.Unmarshal(document, &tree) != nil {
		return false
	}
	for name := range strings.SplitSeq(key, ".") {
		section, ok := tree.(map[string]any)
		if !ok {
			return false
		}
		if tree, ok = section[name]; !ok {
			return false
		}
	}
	return true
}

// find walks a dotted key down from v.
func (d decoder) find(v reflect.Value, key string) (reflect.Value, field, error) {
	names := strings.Split(key, ".")
	var last field
	for i, name := range names {
		prefix := strings.Join(names[:i], ".")
		if v.Kind() == reflect.Slice {
			return v, last, fmt.Errorf("key %q is a list: set it as a whole, as in %s=[a, b]", prefix, prefix)
		}
		if v.Kind() != reflect.Struct {
			return v, last, fmt.Errorf("key %q holds %s: there is no key %q below it", prefix, wording(v.Type()), key)
		}
		prefix = strings.TrimPrefix(prefix+".", ".")
		fields, err := fieldsOf(v.Type())
		if err != nil {
			return v, last, err
		}
		f, known := lookup(fields, name)
		if !known {
			rest := strings.TrimPrefix(key, prefix+name)
			return v, last, unknownKey(d.root, v.Type(), prefix, name, rest, "")
		}
		last, v = f, v.FieldByIndex(f.index)
	}
	return v, last, nil
}

func (d decoder) assign(v reflect.Value, key, value string, enum []string) error {
	verbatim := !strings.HasPrefix(value, `"`) && !strings.HasPrefix(value, `'`)
	where := fmt.Sprintf("key %q", key)
	switch {
	case v.Kind() == reflect.String && verbatim:
		return d.text(value, v, where, enum)
	case value == "":
		return fmt.Errorf("%s: got nothing after the = sign, wanted %s", where, wording(v.Type()))
	case v.Kind() == reflect.Slice && !strings.HasPrefix(value, "["):
		if v.Type().Elem().Kind() == reflect.String && !strings.ContainsAny(value, `"'`) {
			items := strings.Split(value, ",")
			return d.list(v, key, len(items), func(i int, element reflect.Value, key string) error {
				return d.text(strings.TrimSpace(items[i]), element, fmt.Sprintf("key %q", key), enum)
			})
		}
		value = "[" + value + "]"
	}
	node, err := parse([]byte(value))
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if node == nil {
		return fmt.Errorf("%s: got nothing but a comment, wanted %s", where, wording(v.Type()))
	}
	return d.value(node, v, key, enum)
}

// Assigns reports whether an assignment sets the key or a section that holds it.
func Assigns(assignments []string, key string) bool {
	return slices.ContainsFunc(assignments, func(assignment string) bool {
		name, _, _ := strings.Cut(assignment, "=")
		name = strings.TrimSpace(name)
		return name == key || strings.HasPrefix(key, name+".")
	})
}
