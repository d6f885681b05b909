// Package gpt models rows of codes, such as the codes of pictures, by a decoder-only
// transformer that predicts every code from those before it.
//
// A row has the codes of its cells, one after the other, and of each cell those of its
// levels: token t is the code of level t mod L of cell t / L. The model sees at place t
// the vector of the code before it, of that code's level, and knows its own place and
// level. At place 0 it sees a start token: that of the row's class, or the one that
// stands for no class.
package gpt
