package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// commentWidth is the column at which comments are wrapped.
const commentWidth = 100

// Render writes v, a struct or a pointer to one, as YAML: every field in order with
// its documentation and enum above it, nested structs as sections. Decode gives the
// same value back. It fails on a string that YAML cannot hold or outside its enum.
func Render(v any) ([]byte, error) {
	value, err := source(v)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := renderFields(&out, value, "", "", true); err != nil {
		return nil, err
	}
	if out.Len() == 0 {
		out.WriteString("{}\n")
	}
	return out.Bytes(), nil
}

// renderFields writes the keys of struct v; key is its dotted path, for errors.
func renderFields(out *bytes.Buffer, v reflect.Value, key, indent string, commented bool) error {
	fields, err := fieldsOf(v.Type())
	if err != nil {
		return err
	}
	afterSection := false
	for i, f := range fields {
		value := v.FieldByIndex(f.index)
		section := value.Kind() == reflect.Struct
		if i > 0 && commented && (section || afterSection) {
			out.WriteByte('\n')
		}
		afterSection = section
		if commented {
			renderComment(out, f, indent)
		}
		name, err := quote(f.key)
		if err != nil {
			return err
		}
		path := strings.TrimPrefix(key+"."+f.key, ".")
		out.WriteString(indent + name + ":")
		if err := renderValue(out, value, path, indent+"  ", f.enum, commented); err != nil {
			return err
		}
	}
	return nil
}

func renderComment(out *bytes.Buffer, f field, indent string) {
	text := f.doc
	if f.enum != nil {
		text += "\n" + "one of: " + listEnum(f.enum)
	}
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && utf8.RuneCountInString(indent+"# "+line+" "+word) > commentWidth {
				fmt.Fprintf(out, "%s# %s\n", indent, line)
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		if line != "" {
			fmt.Fprintf(out, "%s# %s\n", indent, line)
		}
	}
}

// renderValue writes the value after "name:", the end of the line included.
func renderValue(out *bytes.Buffer, v reflect.Value, key, indent string, enum []string, commented bool) error {
	if v.Kind() == reflect.Struct {
		start := out.Len()
		out.WriteByte('\n')
		err := renderFields(out, v, key, indent, commented)
		if out.Len() == start+1 {
			out.Truncate(start)
			out.WriteString(" {}\n")
		}
		return err
	}
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct || v.Len() == 0 {
		text, err := flow(v, key, enum)
		fmt.Fprintf(out, " %s\n", text)
		return err
	}
	out.WriteByte('\n')
	for i := range v.Len() {
		var element bytes.Buffer
		// The first element explains the keys; the others would repeat it.
		if err := renderFields(&element, v.Index(i), fmt.Sprintf("%s[%d]", key, i), indent+"  ", commented && i == 0); err != nil {
			return err
		}
		writeListItem(out, element.String(), indent)
	}
	return nil
}

// writeListItem puts the dash of a list before the first key of a block.
func writeListItem(out *bytes.Buffer, block, indent string) {
	if block == "" {
		out.WriteString(indent + "- {}\n")
		return
	}
	dashed := false
	for line := range strings.Lines(block) {
		if comment := strings.HasPrefix(line, indent+"  #"); !dashed && comment {
			line = indent + line[len(indent)+2:]
		} else if !dashed {
			line = indent + "- " + line[len(indent)+2:]
			dashed = true
		}
		out.WriteString(line)
	}
}

// flow writes v on one line.
func flow(v reflect.Value, key string, enum []string) (string, error) {
	switch v.Kind() {
	case reflect.String:
		if enum != nil && !slices.Contains(enum, v.String()) {
			return "", fmt.Errorf("key %q: %q is not one of %s", key, v.String(), listEnum(enum))
		}
		text, err := quote(v.String())
		if err != nil {
			return "", fmt.Errorf("key %q: %w", key, err)
		}
		return text, nil
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case reflect.Float32, reflect.Float64:
		return formatFloat(v.Float(), v.Type().Bits()), nil
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			var err error
			if items[i], err = flow(v.Index(i), fmt.Sprintf("%s[%d]", key, i), enum); err != nil {
				return "", err
			}
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case reflect.Struct:
		fields, err := fieldsOf(v.Type())
		if err != nil {
			return "", err
		}
		items := make([]string, len(fields))
		for i, f := range fields {
			name, err := quote(f.key)
			if err != nil {
				return "", err
			}
			value, err := flow(v.FieldByIndex(f.index), key+"."+f.key, f.enum)
			if err != nil {
				return "", err
			}
			items[i] = name + ": " + value
		}
		return "{" + strings.Join(items, ", ") + "}", nil
	}
	if v.CanUint() {
		return strconv.FormatUint(v.Uint(), 10), nil
	}
	return strconv.FormatInt(v.Int(), 10), nil
}

// formatFloat gives the shortest text that reads back as x and that any YAML
// reader takes for a floating-point number.
func formatFloat(x float64, bits int) string {
	switch {
	case math.IsNaN(x):
		return ".nan"
	case math.IsInf(x, 1):
		return ".inf"
	case math.IsInf(x, -1):
		return "-.inf"
	}
	mantissa, exponent, found := strings.Cut(strconv.FormatFloat(x, 'g', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if found {
		return mantissa + "e" + exponent
	}
	return mantissa
}

var (
	plainWord = regexp.MustCompile(`^[A-Za-z_/][A-Za-z0-9_./+-]*$`)
	// switchWord is read as a boolean by YAML 1.1.
	switchWord = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)
)

// quote writes s as a YAML scalar, without quotes if every reader takes it for
// a string.
func quote(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errors.New("a string is not UTF-8, so YAML cannot hold it")
	}
	scalar := yaml.Node{Kind: yaml.ScalarNode, Value: s}
	if plainWord.MatchString(s) && !switchWord.MatchString(s) && scalar.ShortTag() == "!!str" {
		return s, nil
	}
	// For valid UTF-8, Go's escapes mean the same in double-quoted YAML.
	return strconv.Quote(s), nil
}
