package lexical

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/config"
)

// Config are the settings of BM25.
type Config struct {
	K1        float64 `yaml:"k1" min:"0" doc:"How much a word that comes again in an item adds (0: nothing)."`
	B         float64 `yaml:"b" min:"0" doc:"How much long texts are discounted, from 0 to 1."`
	Stem      bool    `yaml:"stem" doc:"Cut English plurals to their singular."`
	Runs      int     `yaml:"runs" min:"0" doc:"Length of runs of characters that are matched besides words, against misspellings (0: none)."`
	RunWeight float64 `yaml:"run_weight" min:"0" doc:"Weight of the score of runs beside that of words."`
}

// Default are usual settings.
func Default() Config { return Config{K1: 1.2, B: 0.75, Stem: true, RunWeight: 0.5} }

// Validate reports the first setting that cannot work.
func (c Config) Validate() error {
	if err := config.Check(c, "model"); err != nil {
		return err
	}
	if c.B > 1 {
		return fmt.Errorf("model.b: %g must be at most 1", c.B)
	}
	return nil
}

// String describes the settings.
func (c Config) String() string {
	text := fmt.Sprintf("BM25 (k1 %g, b %g", c.K1, c.B)
	if c.Stem {
		text += ", stems"
	}
	if c.Runs > 0 {
		text += fmt.Sprintf(", runs of %d with weight %g", c.Runs, c.RunWeight)
	}
	return text + ")"
}

// Alternatives are the settings themselves and others that may suit a catalogue
// better.
func (c Config) Alternatives() []Config {
	list := []Config{c}
	for _, stem := range []bool{true, false} {
		for _, runs := range []int{0, 4} {
			for _, b := range []float64{0.3, 0.75} {
				other := c
				if other.Stem, other.Runs, other.B = stem, runs, b; other != c {
					list = append(list, other)
				}
			}
		}
	}
	return list
}

// Index scores texts for searches. It is safe for concurrent use.
type Index struct {
	config Config
	words  postings
	runs   postings
}

// New indexes texts. It takes about 12 bytes for each different word of each text.
func New(c Config, texts []string) (*Index, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	words, runs := make([][]string, len(texts)), make([][]string, len(texts))
	for i, text := range texts {
		words[i], runs[i] = c.terms(text)
	}
	x := &Index{config: c, words: index(words, c.K1, c.B)}
	if c.Runs > 0 {
		x.runs = index(runs, c.K1, c.B)
	}
	return x, nil
}

// terms are the words of a text and their runs of characters.
func (c Config) terms(text string) (words, runs []string) {
	words = Words(text)
	if c.Runs > 0 {
		runs = Runs(words, c.Runs)
	}
	if c.Stem {
		for i, word := range words {
			words[i] = Stem(word)
		}
	}
	return words, runs
}

// Score writes the scores of all texts for a search:
//
//	Σ idf(t) f (k1 + 1) / (f + k1 (1 - b + b length/mean length)),  idf(t) = log(1 + (N - n_t + 1/2) / (n_t + 1/2)),
//
// over the words t of the search, for f occurrences in a text and n_t of the N texts
// that have t; likewise, with a weight, over the runs.
func (x *Index) Score(search string, scores []float32) {
	sums := make([]float64, len(scores))
	words, runs := x.config.terms(search)
	x.words.add(words, 1, sums)
	x.runs.add(runs, x.config.RunWeight, sums)
	for i, s := range sums {
		scores[i] = float32(s)
	}
}

// postings list the texts of every term.
type postings struct {
	numbers map[string]int32
	lists   [][]posting
}

type posting struct {
	text  int32
	score float64 // that the term adds
}

func index(texts [][]string, k1, b float64) postings {
	p := postings{numbers: map[string]int32{}}
	total := 0
	for i, terms := range texts {
		total += len(terms)
		for _, term := range terms {
			number, known := p.numbers[term]
			if !known {
				number = int32(len(p.lists))
				p.numbers[term], p.lists = number, append(p.lists, nil)
			}
			list := p.lists[number]
			if n := len(list); n == 0 || list[n-1].text != int32(i) {
				list = append(list, posting{text: int32(i)})
			}
			list[len(list)-1].score++
			p.lists[number] = list
		}
	}
	mean := math.Max(1, float64(total)) / math.Max(1, float64(len(texts)))
	for _, list := range p.lists {
		n := float64(len(list))
		idf := math.Log1p((float64(len(texts)) - n + 0.5) / (n + 0.5))
		for i := range list {
			f := list[i].score
			list[i].score = idf * f * (k1 + 1) / (f + k1*(1-b+b*float64(len(texts[list[i].text]))/mean))
		}
	}
	return p
}

// add adds the scores of terms to sums.
func (p postings) add(terms []string, weight float64, sums []float64) {
	for _, term := range terms {
		number, known := p.numbers[term]
		if !known {
			continue
		}
		for _, hit := range p.lists[number] {
			sums[hit.text] += weight * hit.score
		}
	}
}
