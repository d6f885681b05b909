// Package sasrec recommends a user's next item by a causal transformer over the items of
// the history, without their content (SASRec: Kang and McAuley, 2018).
//
// Items have one vector each, which is read in histories and compared with the output to
// score answers. A training example is a whole sequence: every place predicts the next
// item by a softmax over the catalogue, or, in the original way, against one random item.
package sasrec
