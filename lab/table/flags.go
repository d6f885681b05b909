package table

import (
	"regexp"
	"strconv"
	"strings"
)

// Flag reads a number among the flags of a command; the last one counts.
func Flag(flags, name string, otherwise int) int {
	for _, m := range regexp.MustCompile(`(?:^|\s)`+name+`[=\s]\s*(\d+)\b`).FindAllStringSubmatch(flags, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			otherwise = n
		}
	}
	return otherwise
}

// WithoutFlags removes flags and their values.
func WithoutFlags(flags string, names ...string) string {
	for _, name := range names {
		flags = regexp.MustCompile(`(^|\s)`+name+`([=\s]\s*\S+|$)`).ReplaceAllString(flags, " ")
	}
	return strings.Join(strings.Fields(flags), " ")
}
