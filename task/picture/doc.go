// Package picture applies tokenizers of pictures: it scores them, encodes
// pictures of any size, stores the codes, and draws the figures of a report.
//
// Evaluate takes every score in one pass over a set: pixel errors, LPIPS, the
// Frechet and kernel distances of features, and the use of codes. An Encoder
// turns a picture of any size into one grid of codes and back, through windows of
// the size that the network was trained on. Files stores such grids,
// entropy-coded with a model from TrainEntropy. A Sample draws reconstructions.
package picture
