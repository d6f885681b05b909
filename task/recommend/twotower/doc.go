// Package twotower retrieves items by inner products: one tower makes a vector
// of a user's history or of a search, another makes one of every item, and the
// best items are those whose vectors have the largest product with the query's
// (dual encoders: Covington et al., 2016; Karpukhin et al., 2020).
//
// A Model is both towers, transformers of the same architecture. Items are read
// as the codes of their semantic IDs, and the codes have one table of vectors
// that both towers share. The query tower reads a start, then the items of a
// history, the latest first, each as the projected concatenation of its codes'
// vectors; or it reads the words of a search, hashed into buckets.
//
// Loss is the in-batch sampled softmax: the targets of the other examples of a
// batch are the items that a query's own has to beat. A Retriever holds the
// vectors of a whole catalogue in an index, exact or approximate, and answers.
package twotower
