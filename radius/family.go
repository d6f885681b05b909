package radius

import (
	"fmt"
	"math"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// family is one radius. It is either radial or has a measure; each has a file of
// its own and an entry in families.
type family struct {
	kind      Kind
	hasScalar bool
	least     float64              // smallest scalar; 0 means any positive number
	check     func(c Config) error // of settings of the family alone; may be nil

	// squash maps the stored value of a learned scalar to the scalar, unsquash is
	// its inverse; nil is softplus.
	squash   func(raw *Node) *Node
	unsquash func(scalar float64) float64

	radial *radial
	// measure returns r [N,1] and dr/dD [N,d] of D [N,d].
	measure func(c Config, in Inputs, difference, theta *Node) (r, gradient *Node)

	variables func(c Config, d, k int) weights.Set // first values; may be nil
	learned   func(c Config) bool                  // whether gradients reach the variables; may be nil
	// updates returns new values of state after a batch by path; may be nil.
	updates func(c Config, in Inputs, latent, code *Node) map[string]*Node
}

// radial is a family r = ρ(δ; θ). Its functions see δ [N,1] > 0 (the caller masks
// δ = 0) and a scalar θ.
type radial struct {
	value      func(delta, theta *Node) *Node // ρ
	slope      func(delta, theta *Node) *Node // ρ' = k of the unit modes
	elasticity func(delta, theta *Node) *Node // δρ'/ρ = k of ratio mode
	paperScale bool                           // Config.PaperScale multiplies ρ by θ
}

// families lists every family, in the order configuration files show them.
var families = []family{
	euclidean, clip, power, huber, mahalanobis, softClip, pseudoHuber, pNorm, temperature, adaptive,
}

// family returns the kind's family; the zero family for an unknown kind.
func (c Config) family() family {
	for _, f := range families {
		if f.kind == c.Kind {
			return f
		}
	}
	return family{}
}

// Names lists the families.
func Names() []string {
	var names []string
	for _, f := range families {
		names = append(names, string(f.kind))
	}
	return names
}

// Radial says whether r depends on the distance alone.
func (c Config) Radial() bool { return c.family().radial != nil }

// checkScalar reports a scalar that the family cannot work with.
func (f family) checkScalar(s Setting) error {
	least := max(f.least, math.SmallestNonzeroFloat32)
	switch {
	case !(s.Value >= least) || (s.Use == Scheduled && !(s.End >= least)):
		return fmt.Errorf("radius.scalar: %v to %v must be at least %g for %s", s.Value, s.End, least, f.kind)
	case s.Use == Learned && !f.hasScalar:
		return fmt.Errorf("radius.scalar.use: %s has no scalar to learn", f.kind)
	}
	return nil
}

// scaled multiplies ρ or ρ' by the paper's additional factor θ, if configured.
func (f *radial) scaled(c Config, value, theta *Node) *Node {
	if f.paperScale && c.PaperScale {
		return Mul(value, theta)
	}
	return value
}
