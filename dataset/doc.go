// Package dataset selects, splits and orders the items of a data set. Sampler
// and Prefetcher turn any set into training batches that are a pure function of
// (seed, step), so that a resumed run sees the same data. The packages below
// read vectors, images and interaction logs.
package dataset
