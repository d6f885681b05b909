// Package network holds what the networks of recommenders and search engines
// share: questions and answers, the tokens of semantic IDs, the settings of
// transformers and the sizes of batches.
package network

// Question asks for items, with a user's history or with the text of a search.
type Question struct {
	Name    string  // of the user or the search
	History []int32 // rows of the catalogue's table, the latest last; may be empty
	Text    string
}

// Example is what a model learns from: a question and one relevant item.
type Example struct {
	Question
	Target   int32
	Relevant []int32 // all of them in ascending order, if there are more than one
}

// Scored is an item that was found; a larger score is better.
type Scored struct {
	Item  int32
	Score float64
}

// Options refine how a network answers.
type Options struct {
	// Depth is the length of the longest list that can be asked for; a beam search
	// keeps as many beams.
	Depth int
	// ExcludeSeen leaves out the items of a question's history.
	ExcludeSeen bool
	// Questions is the number that the engine works on at a time; 0 leaves it to the
	// network.
	Questions int
	// Index is the kind of index of a network that has one, see index.New, and
	// Effort how hard it looks, see index.SearchOptions.
	Index  string
	Effort int
}
