package catalogue

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Words finds the words that are typical of some items.
type Words struct {
	texts [][]string     // distinct words of each text
	in    map[string]int // texts that hold a word
}

const shortestWord = 3

// NewWords splits the texts of items into words of letters.
func NewWords(texts []string) *Words {
	w := &Words{in: map[string]int{}}
	for _, text := range texts {
		list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
		list = slices.DeleteFunc(list, func(word string) bool { return utf8.RuneCountInString(word) < shortestWord })
		slices.Sort(list)
		list = slices.Compact(list)
		for _, word := range list {
			w.in[word]++
		}
		w.texts = append(w.texts, list)
	}
	return w
}

// Typical returns up to n words with the largest p·log(p/q), where p is the share of the rows that contain the word and
// q the share of all texts. Words of a single row, or no more frequent here than elsewhere, are not typical.
func (w *Words) Typical(rows []int, n int) []string {
	counts := map[string]int{}
	for _, row := range rows {
		for _, word := range w.texts[row] {
			counts[word]++
		}
	}
	type scored struct {
		word  string
		score float64
	}
	var list []scored
	for word, count := range counts {
		p, q := float64(count)/float64(len(rows)), float64(w.in[word])/float64(len(w.texts))
		if count > 1 && p > q {
			list = append(list, scored{word, p * math.Log(p/q)})
		}
	}
	slices.SortFunc(list, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.word, b.word))
	})
	words := []string{}
	for _, s := range list[:min(n, len(list))] {
		words = append(words, s.word)
	}
	return words
}
