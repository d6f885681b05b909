// Package classical holds recommenders that count: popularity, item-kNN,
// transitions and EASE.
//
// A [Method] is fitted on the training part of a log at once. Three of the four are
// tables from items to items, and their score of an item is a weighted sum over the
// rows of the history ([Neighbours]). While a network learns on top of a classical
// score, [Fitted.ScoreWithout] leaves the user's own interactions out of what was
// counted: otherwise the score has seen the item that it is to predict.
//
// Items of equal scores are tied. [Top] lists tied items by their number of
// interactions in training, then by their own numbers; ranks of an evaluation are
// the mean over tied items, see eval.RanksOf.
package classical
