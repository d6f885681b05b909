package network

import "math"

// Exp is e to the power of x, with a relative error of at most max(2, |x|) * 2^-53. It is for
// the sums of priors, which have many powers: the assembly behind math.Exp takes a
// microsecond on Intel processors, in place of ten nanoseconds, while the upper halves of
// the vector registers are in use, as they are once a goroutine of a program built with
// GOEXPERIMENT=simd was preempted.
func Exp(x float64) float64 { return math.Exp2(x * math.Log2E) }
