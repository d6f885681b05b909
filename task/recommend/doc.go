// Package recommender is the pipeline from semantic IDs and a log of
// interactions to a recommender: it trains a model, evaluates it by leave-one-out
// over the whole catalogue, keeps it on disk and answers.
//
// A model is of one of two kinds, behind one interface: generative, which writes
// the ID of the next item code by code (task/seqrec), or dual, which compares a
// vector of the history with one of every item (task/twotower).
package recommend
