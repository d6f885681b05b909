// Package index finds nearest codes on the host: exact search over a frozen
// codebook, k-means to build one, and residual and product encoding over
// several. For recommendation it has the best rows of a catalogue by inner
// product or distance, exact ([Exact]), by lists ([IVF]) or by a graph ([HNSW]),
// and a [Trie] of code sequences along which a beam search stays among IDs in
// use.
//
// # One answer on every machine
//
// The nearest code of x is defined as the lowest i that minimises the squared
// Euclidean distance |x - c_i|^2 evaluated in float64, coordinate by
// coordinate in a fixed order. A float32 kernel (AVX-512, AVX2 or portable
// Go) only proposes: it keeps, for each of sixteen interleaved classes of
// codes, the best and second-best score |c|^2/2 - <x,c>, and a rigorous bound
// on the rounding of that score says which codes could still be the nearest.
// Nearly always that is one code; otherwise the few that remain are compared
// in float64. The code returned is therefore the same whatever the CPU, the
// batch a row arrives in, its position there and the number of workers.
//
// Matrices are row-major slices: x [n,d] holds row i at x[i*d:(i+1)*d].
package index
