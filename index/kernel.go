package index

const (
	// groupRows query rows share one kernel call.
	groupRows = 8
	// panelCodes codes are interleaved coordinate by coordinate in a panel.
	panelCodes = 32
	// lanes is the number of classes (code modulo lanes) whose best and
	// second-best scores a kernel tracks separately.
	lanes = 16
)

// groupState is the running search result of groupRows rows: for each row and
// each class of codes, the lowest score, the code that has it and the
// second-lowest score.
type groupState struct {
	best   [groupRows][lanes]float32
	second [groupRows][lanes]float32
	code   [groupRows][lanes]int32
}

// kernel is one implementation of the two inner loops. In both, panel is
// [d,panelCodes], half is [panelCodes] and holds |c|^2/2, and group is
// [d,groupRows] and holds negated query rows.
type kernel struct {
	name string
	// nearest merges the scores of one panel, whose first code is base, into
	// state. It may round in any way that keeps within Codes.scoreError.
	nearest func(panel, half, group []float32, base int32, state *groupState)
	// scores writes half - <x,c> to out[row*stride+code]. Every
	// implementation rounds after each product and each sum, in the order of
	// the coordinates, so the results agree to the bit.
	scores func(panel, half, group []float32, out []float32, stride int)
	// below returns a bit for each score s with energy + 2s < limit.
	below func(scores *[panelCodes]float32, energy, limit float32) uint32
}

var portableKernel = kernel{name: "portable", nearest: nearestPortable, scores: scoresPortable, below: belowPortable}

// bestKernel is the fastest kernel of this CPU and build.
var bestKernel = supportedKernels()[0]

// Level names the kernel that new Codes use: "avx512", "avx2" or "portable".
// The first two need GOARCH=amd64 and a build with GOEXPERIMENT=simd.
func Level() string { return bestKernel.name }
