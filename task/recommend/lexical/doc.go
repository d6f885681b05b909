// Package lexical ranks texts by the words that they share with a search: BM25
// (Robertson and Walker, 1994), with plurals cut to their stem and runs of letters
// as options.
package lexical
