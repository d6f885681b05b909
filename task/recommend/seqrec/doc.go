// Package seqrec recommends the next item of a user by spelling out its semantic
// ID, code by code (TIGER: Rajput et al., 2023).
//
// A Model is an encoder-decoder transformer. The encoder reads a token for the
// user, hashed into buckets, and the codes of the items in the user's history,
// the oldest first; the decoder predicts the codes of the next item one after
// the other. Every position of an ID has tokens of its own, so that a token
// tells which position it belongs to, and order is left to the positions of the
// network.
//
// Items are the catalogue as the model sees it: an ID an item. Batch turns
// examples into the tensors that Loss takes. A BeamSearch answers queries with
// trained variables: a beam search that only ever spells IDs of the catalogue.
package seqrec
