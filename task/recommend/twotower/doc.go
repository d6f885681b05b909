// Package twotower retrieves items by inner products: one tower makes a vector of a
// user's history or of a search, another makes one of every item, and the best
// items have the largest product with the query's vector (dual encoders: Covington
// et al., 2016; Karpukhin et al., 2020).
//
// Both towers are transformers. Items are read as the codes of their semantic IDs,
// whose vectors both towers share. The query tower reads a start, then the items of
// a history, the latest first, each as the projected concatenation of its codes'
// vectors; or the words of a search, hashed into buckets. Loss is the in-batch
// sampled softmax: a target competes with the targets of the other examples of its
// batch. A Retriever holds the vectors of a catalogue in an index, and answers.
package twotower
