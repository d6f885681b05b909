// Package semid keeps the semantic IDs of a catalogue: which sequence of codes
// stands for which item, and back.
//
// A tokenizer gives every item codes, and sometimes gives two items the same.
// Build resolves that in one of two ways. A token at the end numbers the items
// that share codes, as TIGER does; or the last code of all but one of them moves
// to the nearest that is free. The resulting Table looks IDs up both ways, walks
// through the items below a prefix, takes in new items without touching the IDs
// that are in use, and is stored as a directory that is whole or refused. A
// Union is a directory of several.
//
// TextEncoder embeds titles without a network, where no sentence encoder is at
// hand. Numbering makes IDs that say nothing, to compare with. Words tells what
// is typical of the items that share a code.
package catalogue
