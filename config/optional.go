package config

import (
	"reflect"
	"slices"
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
