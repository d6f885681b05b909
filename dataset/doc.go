// Package dataset recognises inputs and selects, splits and orders the items of
// a data set.
//
// KindOf tells vectors, pictures, items and interactions apart; the packages
// below read them. Sampler and Prefetcher turn any set into training batches
// that are a pure function of (seed, step), so that a resumed run sees the same
// data.
package dataset
