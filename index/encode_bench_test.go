package index

import (
	"fmt"
	"math"
	"testing"

	"github.com/gritvq/gritvq/internal/processor"
)

// The bounds of the product: affine codes take at most 3 times, implicit codes of 16
// candidates and a width up to 128 at most 15 times as long as plain encoding with the
// same beam; a local search is measured beside them. Times are of the processor, the
// least of several, taken in turn, so that other load on the machine cancels.
func BenchmarkConditionalEncode(b *testing.B) {
	const n, k, levels = 64, 256, 4
	for _, d := range []int{64, 128, 512} {
		x, out := normals(1, n*d), make([]uint32, n*levels)
		plain := newResidual(b, bestKernel, 5, d, k, k, k, k)
		local, err := NewLocal(plain.levels...)
		if err != nil {
			b.Fatal(err)
		}
		others := map[string]*Residual{"local": local}
		names := []string{"local"}
		for _, h := range []int{64, 128} {
			for _, kind := range []string{"affine", "implicit"} {
				conditions := make([]Condition, levels)
				for l := 1; l < levels; l++ {
					if kind == "affine" {
						conditions[l] = Affine{Hidden: h, Q: scaled(1, 0.1, d*h), Bias: make([]float32, h), U: scaled(2, 0.01, h*2*d)}
					} else {
						block := randomBlock(uint64(l), d, h, 0.01)
						conditions[l] = Implicit{Blocks: []Block{block}, Shortlist: plain.levels[l].rows, Candidates: 16}
					}
				}
				q, err := NewConditional(plain.levels, conditions)
				if err != nil {
					b.Fatal(err)
				}
				name := fmt.Sprintf("%s-%d", kind, h)
				others[name], names = q, append(names, name)
			}
		}
		for _, name := range names {
			for _, beam := range []int{1, 8, 16} {
				b.Run(fmt.Sprintf("d=%d/beam=%d/%s", d, beam, name), func(b *testing.B) {
					least := [2]float64{math.Inf(1), math.Inf(1)}
					for b.Loop() {
						for i, q := range []*Residual{plain, others[name]} {
							start := processor.Time()
							q.Encode(x, n, 0, beam, out, 1)
							least[i] = min(least[i], processor.Time()-start)
						}
					}
					b.ReportMetric(n/least[1], "vectors/s")
					b.ReportMetric(least[1]/least[0], "times-plain")
				})
			}
		}
	}
}
