package interactions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DeriveOptions refine DeriveQueries.
type DeriveOptions struct {
	// Count is the most queries to make; one an item when 0.
	Count int
	// MaxAnswers drops queries that more products answer; 50 when 0.
	MaxAnswers int
	Seed       uint64
}

// DeriveQueries makes up product searches from a catalogue, where real ones such
// as ESCI's are missing. A query is one or two words of some item's title and
// then its narrowest category, as in "coconut pure oils"; the answers are all
// items of that category whose titles have the words.
//
// People use other words than the titles, and misspell them. Scores on derived
// queries therefore compare methods with each other, not with results on ESCI.
//
// The same catalogue, options and seed give the same queries, and every query is
// in one part. It fails if no item has categories.
func DeriveQueries(c *Catalogue, opt DeriveOptions) (*Queries, error) {
	if opt.Count <= 0 {
		opt.Count = c.Len()
	}
	if opt.MaxAnswers <= 0 {
		opt.MaxAnswers = 50
	}
	shelves := newShelves(c)
	if len(shelves.answers) == 0 {
		return nil, fmt.Errorf("no item of the catalogue has a category and a title of words to derive queries from; give a catalogue with " +
			"categories")
	}
	random := rand.New(rand.NewPCG(opt.Seed, 0x71756572696573))
	q, used := &Queries{Catalogue: c}, map[string]bool{}
	for _, row := range random.Perm(c.Len()) {
		if len(q.List) == opt.Count {
			break
		}
		words := slices.Clone(shelves.words[row])
		if len(words) == 0 {
			continue
		}
		// The chosen words keep the order of the title.
		for keep := 1 + random.IntN(2); len(words) > keep; {
			at := random.IntN(len(words))
			words = slices.Delete(words, at, at+1)
		}
		category := strings.ToLower(narrowest(c.Items[row]))
		text := strings.Join(words, " ") + " " + category
		answers := shelves.matching(category, words)
		if used[text] || len(answers) > opt.MaxAnswers {
			continue
		}
		used[text] = true
		q.List = append(q.List, Query{ID: fmt.Sprintf("q%d", len(q.List)+1), Text: text, Answers: answers, Part: partOf(opt.Seed, text)})
	}
	return q, nil
}

func narrowest(item Item) string {
	if len(item.Categories) == 0 {
		return ""
	}
	return item.Categories[len(item.Categories)-1]
}

// shelves find the items of a category by the words of their titles.
type shelves struct {
	words   [][]string         // words of every item that a query may use
	answers map[string][]int32 // items by category and word, ascending
}

func newShelves(c *Catalogue) *shelves {
	s := &shelves{words: make([][]string, c.Len()), answers: map[string][]int32{}}
	for row, item := range c.Items {
		category := strings.ToLower(narrowest(item))
		if category == "" {
			continue
		}
		said := titleWords(category)
		for _, word := range titleWords(item.Title) {
			repeats := slices.ContainsFunc(said, func(w string) bool { return strings.HasPrefix(w, word) }) // oil, of oils
			if repeats || slices.Contains(s.words[row], word) || !telling(word) {
				continue
			}
			s.words[row] = append(s.words[row], word)
			key := category + "\x00" + word
			s.answers[key] = append(s.answers[key], int32(row))
		}
	}
	return s
}

// matching returns the items of a category that have all words.
func (s *shelves) matching(category string, words []string) []int32 {
	found := slices.Clone(s.answers[category+"\x00"+words[0]])
	for _, word := range words[1:] {
		others := s.answers[category+"\x00"+word]
		found = slices.DeleteFunc(found, func(row int32) bool {
			_, both := slices.BinarySearch(others, row)
			return !both
		})
	}
	return found
}

// titleWords splits a title into lower-case words of letters and digits.
func titleWords(title string) []string {
	return strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// plainWords say little in any title.
var plainWords = strings.Fields("and for the with from new set pack inch oz ounce ounces fluid count size piece pieces color colors")

// telling reports whether people would search for a word.
func telling(word string) bool {
	return utf8.RuneCountInString(word) >= 3 && strings.ContainsFunc(word, unicode.IsLetter) && !slices.Contains(plainWords, word)
}
