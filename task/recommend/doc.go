// Package recommend trains, stores, evaluates and asks recommenders and search
// engines over the items of a catalogue.
//
// A [Dataset] holds questions and their relevant items, of a log of interactions
// or of a list of searches. A [Kind] of model has settings, a [Config], and makes
// a [Model]; adding one takes a file and a call of [Register]. [TrainModel],
// [Evaluate] and [Ask] are the workflows of the commands recommend and retrieve.
//
// The networks are in packages seqrec (generates the ID of the next item code by
// code), twotower (compares a vector of the question with one of every item) and sasrec
// (the same without IDs). They start from a [Prior], or from nothing.
package recommend
