package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

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

// unknownKey words the error for name, which is no key of struct type t. The path
// to t inside root is prefix ("" or ending in a dot); rest is the part of a dotted
// key after name.
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

// Nearest returns the candidate that word most likely misspells, or "" if none is
// close: one edit per three letters, at least one, is allowed. An edit inserts,
// deletes or replaces a letter or swaps two neighbours; case does not count. Of
// equally near candidates the first wins.
func Nearest(word string, candidates []string) string {
	letters := []rune(strings.ToLower(word))
	best, nearest := max(1, len(letters)/3)+1, ""
	for _, candidate := range candidates {
		other := []rune(strings.ToLower(candidate))
		if len(other)-len(letters) >= best || len(letters)-len(other) >= best {
			continue
		}
		edits := editDistance(letters, other)
		if edits < best && edits < len(letters) && edits < len(other) {
			best, nearest = edits, candidate
		}
	}
	return nearest
}

// editDistance is the optimal string alignment distance: Damerau-Levenshtein with
// no letter edited twice.
func editDistance(a, b []rune) int {
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			replace := previous[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			current[j] = min(replace, previous[j]+1, current[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, previous, current = previous, current, before
	}
	return previous[len(b)]
}
