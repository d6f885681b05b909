package table

import (
	"slices"
	"strconv"
	"strings"
)

// Flag reads a number among the flags of a command; the last one counts.
func Flag(flags, name string, otherwise int) int {
	fields := strings.Fields(flags)
	for i, field := range fields {
		value, joined := strings.CutPrefix(field, name+"=")
		if field == name && i+1 < len(fields) {
			value, joined = fields[i+1], true
		}
		if n, err := strconv.Atoi(value); joined && err == nil {
			otherwise = n
		}
	}
	return otherwise
}

// WithoutFlags removes flags and their values.
func WithoutFlags(flags string, names ...string) string {
	var kept []string
	fields := strings.Fields(flags)
	for i := 0; i < len(fields); i++ {
		name, _, joined := strings.Cut(fields[i], "=")
		if !slices.Contains(names, name) {
			kept = append(kept, fields[i])
		} else if !joined {
			i++
		}
	}
	return strings.Join(kept, " ")
}
