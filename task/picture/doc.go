// Package recon is the pipeline of picture tokenizers: what a tokenizer scores,
// pictures of any size as codes and back, their files, and the pictures of a
// report.
//
// Evaluate takes every score in one pass over a set: closeness of pixels, LPIPS,
// the Frechet and kernel distances of features, and the use of codes. An Encoder
// turns pictures of any size into one grid of codes and back, through windows of
// the size the network was trained on. Files keeps such grids on disk,
// entropy-coded with what TrainEntropy has learned. A Sample draws what
// became of some pictures.
package picture
