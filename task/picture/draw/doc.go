// Package picture draws what a tokenizer does to pictures: grids of originals,
// reconstructions and errors, maps of codes, and sheets that show what a code
// looks like. Its functions are pure; WritePNG saves what they return.
package draw
