// Package textwidth measures and cuts text by the columns it takes on a
// terminal: combining marks take none, East Asian wide characters and emoji two.
package textwidth

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Of returns the number of terminal columns s takes when printed on one line.
func Of(s string) int {
	n := 0
	for _, r := range s {
		n += OfRune(r)
	}
	return n
}

// OfRune returns the columns r takes: 0, 1 or 2.
func OfRune(r rune) int {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return 0
	case r < 0x300:
		if r == 0xad { // soft hyphen
			return 0
		}
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1160 && r <= 0x11ff: // Hangul vowels and finals join the syllable before
		return 0
	case isWide(r):
		return 2
	}
	return 1
}

// wide holds the blocks that Unicode's EastAsianWidth.txt marks W or F,
// rounded to whole blocks.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x231a, 0x231b}, {0x2329, 0x232a}, {0x23e9, 0x23ec},
	{0x25fd, 0x25fe}, {0x2614, 0x2615}, {0x2648, 0x2653}, {0x26a1, 0x26a1},
	{0x2705, 0x2705}, {0x274c, 0x274c}, {0x2753, 0x2755}, {0x2795, 0x2797},
	{0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3},
	{0xf900, 0xfaff}, {0xfe10, 0xfe19}, {0xfe30, 0xfe6f}, {0xff00, 0xff60},
	{0xffe0, 0xffe6}, {0x16fe0, 0x18aff}, {0x1b000, 0x1b2ff}, {0x1f200, 0x1f2ff},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
}

func isWide(r rune) bool {
	for _, block := range wide {
		if r < block[0] {
			return false
		}
		if r <= block[1] {
			return true
		}
	}
	return false
}

// Cut returns s when it fits in columns, and otherwise its longest beginning
// that fits with an ellipsis after it. It returns "" when columns < 1.
func Cut(s string, columns int) string {
	if columns < 1 {
		return ""
	}
	if Of(s) <= columns {
		return s
	}
	used := 0
	for i, r := range s {
		w := OfRune(r)
		if used+w > columns-1 {
			return s[:i] + "…"
		}
		used += w
	}
	return s
}

// OneLine makes s safe to print inside one line of a terminal: every control
// character (line breaks, tabs, escape sequences' ESC) becomes a space and
// invalid UTF-8 becomes U+FFFD.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		if !utf8.ValidRune(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
