// Package catalogue gives the items of a catalogue semantic IDs: short sequences of codes from a tokenizer.
//
// Make trains a tokenizer on embeddings or titles, or uses a given one, and writes a directory per catalogue:
// the table of IDs, the items with their titles, the tokenizer and a report. Add gives new items IDs without
// touching those in use, Open reads a directory, and Show lists the items below a prefix.
//
// A tokenizer may give two items the same codes. Build, which makes a Table of codes and names, resolves that
// in one of two ways: a token at the end numbers the items that share codes, as TIGER does; or the last code of
// all but one of them moves to the nearest that is free. A Table is stored as a directory that is complete or
// refused. A Union is a directory of several.
//
// TextEncoder embeds titles without a network. Numbering makes IDs without
// meaning, as a baseline. Words finds the words typical of items that share a code.
package catalogue
