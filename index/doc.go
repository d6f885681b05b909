// Package index finds nearest codes on the host: exact search in a frozen
// codebook ([Codes]), k-means to build one, residual and product encoding over
// several, and search among rows that are stored as such codes ([Lookup]). For
// recommendation it searches a catalogue by inner product or distance ([Exact],
// [IVF], [HNSW]) and keeps a beam search among IDs in use ([Trie]).
//
// # One answer on every machine
//
// The nearest code of x is the lowest i that minimises |x - c_i|^2 in float64,
// summed in a fixed order. A float32 kernel (AVX-512, AVX2 or portable Go) only
// proposes: for each of sixteen interleaved classes of codes it keeps the best and
// second-best score |c|^2/2 - <x,c>, and a rigorous bound on the rounding of that
// score leaves nearly always one candidate. Several are compared in float64. The
// result does not depend on the CPU, the batch, the row's position or the workers.
//
// Matrices are row-major slices: x [n,d] holds row i at x[i*d:(i+1)*d].
package index
