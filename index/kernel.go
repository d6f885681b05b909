package index

const (
	groupRows  = 8  // query rows of one kernel call
	panelCodes = 32 // codes interleaved coordinate by coordinate in a panel
	lanes      = 16 // classes (code modulo lanes) with a best and second-best score each
)

// groupState is the running result of a group, for each row and class of codes.
type groupState struct {
	best   [groupRows][lanes]float32 // lowest score
	second [groupRows][lanes]float32 // second-lowest score
	code   [groupRows][lanes]int32   // of the lowest score
}

// kernel is one implementation of the inner loops: panel is [d,panelCodes], half
// [panelCodes] holds |c|^2/2, group [d,groupRows] holds negated query rows.
type kernel struct {
	name string
	// nearest merges the scores of one panel, whose first code is base, into
	// state. Its rounding stays within Codes.scoreError.
	nearest func(panel, half, group []float32, base int32, state *groupState)
	// scores writes half - <x,c> to out[row*stride+code]. All implementations round
	// after each product and sum, in the order of the coordinates: equal to the bit.
	scores func(panel, half, group []float32, out []float32, stride int)
	// below returns a bit for each score s with energy + 2s < limit.
	below func(scores *[panelCodes]float32, energy, limit float32) uint32
	// add adds x to sum, of equal length, a multiple of panelCodes.
	add func(sum, x []float32)
	elements
}

var portableKernel = kernel{
	name: "portable", nearest: nearestPortable, scores: scoresPortable, below: belowPortable, add: addPortable, elements: portableElements,
}

var bestKernel = supportedKernels()[0]

// Level names the kernel that new Codes use: "avx512", "avx2" or "portable".
// The first two need GOARCH=amd64 and a build with GOEXPERIMENT=simd.
func Level() string { return bestKernel.name }

// The eight sums of a portable tile fit the registers of every 64-bit CPU.
const (
	tileRows  = 2
	tileCodes = 4
)

func nearestPortable(panel, half, group []float32, base int32, state *groupState) {
	var scores [groupRows * panelCodes]float32
	scoresPortable(panel, half, group, scores[:], panelCodes)
	for r := range groupRows {
		best, second, code := &state.best[r], &state.second[r], &state.code[r]
		for j, s := range scores[r*panelCodes : (r+1)*panelCodes] {
			lane := j % lanes
			switch {
			case s < best[lane]:
				second[lane], best[lane], code[lane] = best[lane], s, base+int32(j)
			case s < second[lane]:
				second[lane] = s
			}
		}
	}
}

func scoresPortable(panel, half, group []float32, out []float32, stride int) {
	for j := 0; j < panelCodes; j += tileCodes {
		for r := 0; r < groupRows; r += tileRows {
			h := (*[tileCodes]float32)(half[j:])
			a0, a1, a2, a3 := h[0], h[1], h[2], h[3]
			b0, b1, b2, b3 := a0, a1, a2, a3
			p, g := panel[j:], group[r:]
			for {
				c, x := (*[tileCodes]float32)(p), (*[tileRows]float32)(g)
				// The conversions forbid fusing: see kernel.scores.
				a0 += float32(x[0] * c[0])
				a1 += float32(x[0] * c[1])
				a2 += float32(x[0] * c[2])
				a3 += float32(x[0] * c[3])
				b0 += float32(x[1] * c[0])
				b1 += float32(x[1] * c[1])
				b2 += float32(x[1] * c[2])
				b3 += float32(x[1] * c[3])
				if len(p) <= panelCodes || len(g) <= groupRows {
					break
				}
				p, g = p[panelCodes:], g[groupRows:]
			}
			*(*[tileCodes]float32)(out[r*stride+j:]) = [tileCodes]float32{a0, a1, a2, a3}
			*(*[tileCodes]float32)(out[(r+1)*stride+j:]) = [tileCodes]float32{b0, b1, b2, b3}
		}
	}
}

func belowPortable(scores *[panelCodes]float32, energy, limit float32) uint32 {
	var bits uint32
	for j, s := range scores {
		if energy+2*s < limit {
			bits |= 1 << j
		}
	}
	return bits
}

func addPortable(sum, x []float32) {
	x = x[:len(sum)]
	for j := range sum {
		sum[j] += x[j]
	}
}
