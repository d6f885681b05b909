package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scalar decodes a node into a string, number or boolean. A plain 7 is a
// string where one is wanted, but a quoted "7" is never a number.
func (d decoder) scalar(node *yaml.Node, v reflect.Value, key string, enum []string) error {
	tag := node.ShortTag()
	if node.Kind != yaml.ScalarNode || node.Style&yaml.TaggedStyle != 0 || tag == "!!null" {
		return d.wrongType(node, key, wording(v.Type()))
	}
	if v.Kind() == reflect.String {
		return d.text(node.Value, v, fmt.Sprintf("key %q%s", key, d.at(node)), enum)
	}
	var parsed any
	if tag == "!!int" || tag == "!!float" || tag == "!!bool" {
		if err := node.Decode(&parsed); err != nil {
			return d.wrongType(node, key, wording(v.Type()))
		}
	}
	switch v.Kind() {
	case reflect.Bool:
		if b, ok := parsed.(bool); ok {
			v.SetBool(b)
			return nil
		}
	case reflect.Float32, reflect.Float64:
		if x, ok := toFloat(parsed); ok {
			if v.Kind() == reflect.Float32 && math.IsInf(float64(float32(x)), 0) && !math.IsInf(x, 0) {
				return d.wrongType(node, key, "a number that a float32 holds")
			}
			v.SetFloat(x)
			return nil
		}
	default:
		return d.integer(node, parsed, v, key)
	}
	return d.wrongType(node, key, wording(v.Type()))
}

// text stores s in string v after checking it against enum; where names the
// key in errors.
func (d decoder) text(s string, v reflect.Value, where string, enum []string) error {
	if enum != nil && !slices.Contains(enum, s) {
		if near := Nearest(s, enum); near != "" {
			return fmt.Errorf("%s: %q is not one of %s: did you mean %q?", where, s, listEnum(enum), near)
		}
		return fmt.Errorf("%s: %q is not one of %s", where, s, listEnum(enum))
	}
	v.SetString(s)
	return nil
}

// listEnum joins the allowed values, showing the empty one as "".
func listEnum(enum []string) string {
	shown := slices.Clone(enum)
	for i, value := range shown {
		if value == "" {
			shown[i] = `""`
		}
	}
	return strings.Join(shown, ", ")
}

func toFloat(parsed any) (float64, bool) {
	switch x := parsed.(type) {
	case float64:
		return x, true
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	}
	return 0, false
}

// integer stores a whole number, also when it is written like 1e6.
func (d decoder) integer(node *yaml.Node, parsed any, v reflect.Value, key string) error {
	var magnitude uint64
	negative := false
	switch x := parsed.(type) {
	case int:
		magnitude, negative = absolute(int64(x))
	case int64:
		magnitude, negative = absolute(x)
	case uint64:
		magnitude = x
	case float64:
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return d.wrongType(node, key, "a whole number")
		}
		magnitude, negative = absolute(int64(x))
	default:
		return d.wrongType(node, key, "a whole number")
	}
	bits := v.Type().Bits()
	if v.CanUint() {
		if highest := uint64(math.MaxUint64) >> (64 - bits); negative || magnitude > highest {
			return d.wrongType(node, key, fmt.Sprintf("a whole number from 0 to %d", highest))
		}
		v.SetUint(magnitude)
		return nil
	}
	highest := uint64(math.MaxInt64) >> (64 - bits)
	if magnitude > highest && !(negative && magnitude == highest+1) {
		return d.wrongType(node, key, fmt.Sprintf("a whole number from -%d to %d", highest+1, highest))
	}
	if negative {
		v.SetInt(-int64(magnitude)) // two's complement: right for the lowest value too
		return nil
	}
	v.SetInt(int64(magnitude))
	return nil
}

func absolute(x int64) (magnitude uint64, negative bool) {
	if x < 0 {
		return -uint64(x), true
	}
	return uint64(x), false
}
