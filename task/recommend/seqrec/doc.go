// Package seqrec recommends a user's next item by writing its semantic ID, code by
// code (TIGER: Rajput et al., 2023).
//
// A Model is an encoder-decoder transformer. The encoder reads a token for the
// user, hashed into buckets, and the codes of the items in the user's history,
// the oldest first; the decoder predicts the codes of the next item one after
// the other. Every position of an ID has its own tokens. Batch turns examples into
// the inputs of Loss. A BeamSearch answers questions with trained variables and
// follows only IDs of the catalogue.
package seqrec
