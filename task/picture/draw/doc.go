// Package draw draws the work of a tokenizer of pictures: grids of originals,
// reconstructions and errors, maps of codes, and sheets of patches that share a
// code. WritePNG saves a drawing.
package draw
