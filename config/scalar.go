package config

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// scalar decodes a node into a string, number or boolean. A plain 7 may be
// decoded into a string, but a quoted "7" never into a number.
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
		if tag == "!!int" || tag == "!!float" {
			x := reflect.ValueOf(parsed).Convert(reflect.TypeFor[float64]()).Float()
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
	if enum == nil || slices.Contains(enum, s) {
		v.SetString(s)
		return nil
	}
	err := fmt.Errorf("%s: %q is not one of %s", where, s, listEnum(enum))
	if near := Nearest(s, enum); near != "" {
		return fmt.Errorf("%w: did you mean %q?", err, near)
	}
	return err
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

// integer stores a whole number, also when it is written like 1e6.
func (d decoder) integer(node *yaml.Node, parsed any, v reflect.Value, key string) error {
	number := new(big.Int)
	switch x := parsed.(type) {
	case int:
		number.SetInt64(int64(x))
	case int64:
		number.SetInt64(x)
	case uint64:
		number.SetUint64(x)
	case float64:
		if x != math.Trunc(x) || math.Abs(x) > 1<<53 {
			return d.wrongType(node, key, "a whole number")
		}
		number.SetInt64(int64(x))
	default:
		return d.wrongType(node, key, "a whole number")
	}
	one := big.NewInt(1)
	low, high := new(big.Int), new(big.Int).Lsh(one, uint(v.Type().Bits())) // of an unsigned type
	if v.CanInt() {
		low.Neg(high.Rsh(high, 1))
	}
	if high.Sub(high, one); number.Cmp(low) < 0 || number.Cmp(high) > 0 {
		return d.wrongType(node, key, fmt.Sprintf("a whole number from %d to %d", low, high))
	}
	if v.CanInt() {
		v.SetInt(number.Int64())
	} else {
		v.SetUint(number.Uint64())
	}
	return nil
}
