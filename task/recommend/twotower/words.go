package twotower

import (
	"hash/fnv"
	"strings"
	"unicode"

	"github.com/gritvq/gritvq/task/recommend/network"
)

// Read returns the part of a question that the query tower reads.
func (m *Model) Read(q network.Question) Query {
	if m.reads == Words {
		return m.Words(q.Text)
	}
	return q.History
}

// Words turns the text of a search into a query: its words, runs of letters and
// digits without regard to case, hashed into the model's buckets.
func (m *Model) Words(text string) Query {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	query := make(Query, len(words))
	for i, word := range words {
		h := fnv.New64a()
		h.Write([]byte(word))
		query[i] = int32(h.Sum64() % uint64(m.Config.WordBuckets))
	}
	return query
}
