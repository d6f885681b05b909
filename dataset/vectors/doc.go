// Package vectors reads and writes files of vectors.
//
// Open reads a matrix of vectors from .npy, .npz, .safetensors, .parquet, .fvecs,
// .bvecs, text or a built-in synthetic set as one type, Vectors, which hands out float32 rows
// on demand and never holds a whole file in memory. Scan summarises it in one
// pass. Create writes vectors.
//
// Files are read with positioned reads rather than mapped into memory: a file
// truncated by another process is then an error instead of a SIGBUS that kills
// the program. A batch of a thousand rows costs about a millisecond.
package vectors
