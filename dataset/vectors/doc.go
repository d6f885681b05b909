// Package vectors reads and writes files of vectors and of codes.
//
// Open reads a matrix of vectors from .npy, .npz, .parquet, .fvecs, .bvecs or
// a built-in synthetic set as one type, Vectors, which hands out float32 rows
// on demand and never holds a whole file in memory. Scan summarises it in one
// pass.
// CreateCodes, OpenCodes and CreateVectors write and read results.
//
// Files are read with positioned reads rather than mapped into memory. A
// mapping would turn a file truncated by another process into a SIGBUS that
// kills the program; a positioned read turns it into an error. Both are served
// from the page cache, and a batch of a thousand rows costs about a
// millisecond, well below a training step. It also works alike on every
// platform, and leaves no address space to unmap while readers are active.
package vectors
