// Package prior trains models of the codes of a tokenizer into a directory, scores them
// and draws from them. A prior tells how likely codes are: it can be sampled for new
// pictures, and it bounds the bits that codes take.
package prior
