package lexical

import (
	"strings"
	"unicode"
)

// Words splits a text into lower-case words of letters and digits.
func Words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// Stem cuts the plural ending of an English word (the S-stemmer of Harman, 1991).
func Stem(word string) string {
	ends := func(suffix string, unless ...string) bool {
		if !strings.HasSuffix(word, suffix) || len(word) <= len(suffix)+1 {
			return false
		}
		for _, other := range unless {
			if strings.HasSuffix(word, other) {
				return false
			}
		}
		return true
	}
	switch {
	case strings.HasSuffix(word, "ies"):
		if ends("ies", "eies", "aies") {
			return word[:len(word)-3] + "y"
		}
	case strings.HasSuffix(word, "es"):
		if ends("es", "aes", "ees", "oes") {
			return word[:len(word)-1]
		}
	case ends("s", "us", "ss"):
		return word[:len(word)-1]
	}
	return word
}

// Runs returns all runs of n characters of the words, each between two blanks: "oil"
// has " oi", "oil" and "il ".
func Runs(words []string, n int) []string {
	var list []string
	for _, word := range words {
		letters := []rune(" " + word + " ")
		if len(letters) <= n {
			list = append(list, string(letters))
			continue
		}
		for i := range len(letters) - n + 1 {
			list = append(list, string(letters[i:i+n]))
		}
	}
	return list
}
