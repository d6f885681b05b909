// Package images reads image datasets as squares of one size.
//
// Open reads a folder, a tar (WebDataset shards too), a zip, a single picture
// or a built-in synthetic set as one type, Set. Crops hands out training
// batches, Centre evaluation batches and Whole the undistorted picture.
// Everything is 8-bit RGB.
//
// A picture is prepared as is usual for image tokenizers: its short side is
// brought to Options.Short with an antialiasing filter, then a square of
// Options.Size is cut from it, in the middle or, for training, at random with
// a mirror image half of the time. The random choices are a pure function of
// the seed, the step and the position in the batch, so a resumed run sees the
// same pixels.
//
// JPEG, PNG, GIF (the first frame), WebP and BMP are told apart by content. A
// picture that cannot be decoded does not end a run: another one of its batch
// takes its place and it is reported once, by name and reason.
package images
