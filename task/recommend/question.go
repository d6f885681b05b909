package recommend

// Question asks for items, with a user's history or with the text of a search.
type Question struct {
	Name    string  // of the user or the search
	History []int32 // rows of the catalogue's table, the latest last; may be empty
	Text    string
}

// Case is a question and its relevant items, rows of the table in ascending
// order.
type Case struct {
	Question
	Relevant []int32
}

// Example is what a model learns from: a question and one relevant item.
type Example struct {
	Question
	Target   int32
	Relevant []int32 // all of them, if the question has more than one
}

// Scored is an item that was found; a larger score is better.
type Scored struct {
	Item  int32
	Score float64
}
