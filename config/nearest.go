package config

import "strings"

// Nearest returns the candidate that word is most likely a misspelling of, or
// "" when none is close: at most one edit per three letters, and always at
// least one allowed. An edit inserts, deletes or replaces a letter or swaps
// two neighbours; case does not count. Of equally near candidates the first
// wins.
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

// editDistance is the Damerau-Levenshtein distance in which no letter is
// edited twice (optimal string alignment).
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
