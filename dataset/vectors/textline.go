package vectors

import (
	"errors"
	"strconv"
	"strings"
)

// separatorOf guesses what separates the columns of a line: tabs, semicolons,
// commas, or blanks, returned as "".
func separatorOf(line string) string {
	for _, separator := range []string{"\t", ";", ","} {
		if strings.Contains(line, separator) {
			return separator
		}
	}
	return ""
}

// isHeader reports whether a first line names columns: no field is a number, or
// they count the columns from 0, as the names of a DataFrame without any do. The
// name of an index is empty.
func isHeader(fields []string) bool {
	names, counted := fields, len(fields) > 1
	if names[0] == "" {
		names = names[1:]
	}
	numeric := 0
	for i, name := range names {
		if isNumber(name) {
			numeric++
		}
		counted = counted && name == strconv.Itoa(i)
	}
	return numeric == 0 || counted
}

func isNumber(field string) bool {
	_, err := strconv.ParseFloat(field, 32)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// shortened cuts a field for messages.
func shortened(field string) string {
	const most = 24
	if runes := []rune(field); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return field
}

// leftOut says which columns are no part of the vectors.
func leftOut(names []string) string {
	const most = 4
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return "left out column " + names[0]
	case n > most:
		return "left out columns " + strings.Join(names[:most], ", ") + " and " + strconv.Itoa(n-most) + " more"
	}
	return "left out columns " + strings.Join(names, ", ")
}
