// Package transform turns the raw codebook E [K,d] into the usable codes
// C' [K,d], the integrated transform E' = M E W of the paper: M mixes codes,
// W acts on features, and rows are optionally normalised.
//
// A [Config] names the transform. [Config.Init] gives its variables, [Config.Apply]
// and [Config.Rows] are the graph code, [Config.Usable] is the same map in plain
// float64 on the host, and [Config.Place] moves chosen usable codes to given
// places (dead-code resets and running averages). [Config.ClippedFeature] bounds
// the spectral norm of W.
//
// # Variables
//
//	mixer/a              A [K,r]               linear, lowrank, attention-lowrank
//	mixer/b              Bᵀ [r,K]              linear, lowrank, attention-lowrank
//	mixer/m              M                     full [K,K], grouped [blocks*size,size]
//	mixer/query          U1 [d,s]              attention, attention-topk
//	mixer/key            V1 [d,s]              attention, attention-topk
//	mixer/bias           self preference [1]   every attention kind
//	feature/w            W [d,d]               when FeatureMap
//	feature/gain         gain [1]              when RowNorm is gain
//	state/source         E0 [K,d], frozen      linear with Joint
//	state/neighbours     indices [K,k]         attention-topk
//	state/feature_u      [d]                   when SpectralClip is on
//
// # Which codes move
//
// With G = dL/dE' nonzero only on the selected rows, the rows of dA and dM of
// unselected codes are zero. In the linear kind with Joint the mixed copy E0 is
// frozen, so that unselected codes move only through W, B and the gain (and not
// through B while A = 0); in the other kinds with Joint they also move through
// the codes they mix.
package transform

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gritvq/gritvq/weights"
)

// Kind names a way of mixing codes.
type Kind string

// The kinds. Cost is per evaluation of all K codes, beside K d² for W.
const (
	KindIdentity         Kind = "identity"          // C' = E, no variables
	KindLinear           Kind = "linear"            // M = I + A Bᵀ: 2 K r d
	KindLowRank          Kind = "lowrank"           // M = A Bᵀ, the paper's letter: 2 K r d
	KindFull             Kind = "full"              // any M: K² d, memory K²
	KindGrouped          Kind = "grouped"           // block-diagonal M: K² d / groups
	KindAttention        Kind = "attention"         // softmax over all codes: K² (d+s), memory K²
	KindAttentionTopK    Kind = "attention-topk"    // softmax over k neighbours: K k (d+s)
	KindAttentionLowRank Kind = "attention-lowrank" // softmax through r prototypes: 2 K r d
)

// RowNorm values.
const (
	RowNormNone   = "none"   // rows as they come
	RowNormLatent = "latent" // unit rows; the caller normalises the latents too
	RowNormGain   = "gain"   // unit rows times one learned gain
)

// Config describes an integrated transform.
type Config struct {
	Kind         Kind    `yaml:"kind" doc:"how codes are mixed"`
	Rank         int     `yaml:"rank" doc:"columns of A and B (linear, lowrank), prototypes (attention-lowrank)"`
	Groups       int     `yaml:"groups" doc:"diagonal blocks of the grouped mixer; the last one is smaller when they do not divide the codes"`
	TopK         int     `yaml:"topk" doc:"codes a row of attention-topk keeps, itself included"`
	ScoreDim     int     `yaml:"score_dim" doc:"width of the attention's queries and keys"`
	Temperature  float64 `yaml:"temperature" doc:"divides the attention's scores: lower is sharper"`
	Diagonal     float64 `yaml:"diagonal" doc:"mean weight a code gives itself at the start (attention)"`
	RowNorm      string  `yaml:"row_norm" enum:"none|latent|gain"`
	SpectralClip float64 `yaml:"spectral_clip" doc:"bound on the spectral norm of W, 0 for none"`
	FeatureMap   bool    `yaml:"feature_map" doc:"whether there is a W"`
	Joint        bool    `yaml:"-"` // the raw codes are trained too (protocol B); follows from how codes learn
}

// Enums implements config.Enumerated.
func (Config) Enums() map[string][]string { return map[string][]string{"kind": Kinds()} }

// Docs implements config.Documented.
func (Config) Docs() map[string]string {
	return map[string]string{
		"row_norm": "normalisation of the usable codes: none, unit rows with normalised latents, or unit rows with a " +
			"learned gain",
	}
}

// Default is the transform that does best on real data: identity plus low rank,
// joint codes, no row normalisation. It starts as C' = E. At K = 1024, d = 64 the
// linear kind costs about 5 % of a small autoencoder's training step of 1024
// latents and attention-topk with 6 neighbours about 10 % (see BenchmarkOverhead).
func Default() Config {
	return Config{
		Kind: KindLinear, Rank: 32, Groups: 8, TopK: 6, ScoreDim: 16,
		Temperature: 1, Diagonal: 0.9, RowNorm: RowNormNone,
		FeatureMap: true, Joint: true,
	}
}

// Validate reports the first field that does not fit k codes of width d.
// Fields the kind does not read are not looked at.
func (c Config) Validate(k, d int) error {
	if k < 1 || d < 1 {
		return fmt.Errorf("a transform needs at least one code of at least one dimension, got %d codes of %d", k, d)
	}
	m := c.mixer()
	if m == nil {
		return fmt.Errorf("kind %q is unknown: use one of %s", c.Kind, strings.Join(Kinds(), ", "))
	}
	switch c.RowNorm {
	case RowNormNone, RowNormLatent, RowNormGain:
	default:
		return fmt.Errorf("row_norm %q is unknown: use none, latent or gain", c.RowNorm)
	}
	if !(c.SpectralClip >= 0) {
		return fmt.Errorf("spectral_clip is %g: use a positive bound, or 0 for none", c.SpectralClip)
	}
	return m.check(c, k, d)
}

// hasFeature says whether there is a W: never for the identity, which is the
// codebook without a transform.
func (c Config) hasFeature() bool { return c.FeatureMap && c.Kind != KindIdentity }

// mixer is the map E -> M E of a kind.
type mixer interface {
	// check reports the first field that does not fit.
	check(c Config, k, d int) error
	// start adds the initial variables of these codes to set.
	start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error
	// mix returns M E [K,d] on the host.
	mix(c Config, p variables) []float64
	// place changes variables so that rows of M E become y [len(rows),d].
	place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64, mode PlaceMode) ([]Touched, error)
	// graph returns M E [K,d].
	graph(c Config, v weights.Vars, codes *graph.Node) *graph.Node
	// graphRows returns the rows of M E at index [N], computing as few as it can.
	graphRows(c Config, v weights.Vars, codes, index *graph.Node) *graph.Node
}

// attending is a mixer whose rows are softmax weights.
type attending interface {
	// entropy is the mean entropy of the rows, a scalar.
	entropy(c Config, v weights.Vars, codes *graph.Node) *graph.Node
}

// refresher is a mixer with state that follows the raw codes.
type refresher interface {
	refresh(c Config, set weights.Set, codes *weights.Array) error
}

// kinds lists every kind, in the order configuration files show them.
var kinds = []struct {
	Kind
	mixer
}{
	{KindIdentity, identityMixer{}}, {KindLinear, linearMixer{}}, {KindLowRank, lowRankMixer{}}, {KindFull, fullMixer{}},
	{KindGrouped, groupedMixer{}}, {KindAttention, attentionMixer{}}, {KindAttentionTopK, topKMixer{}},
	{KindAttentionLowRank, prototypeMixer{}},
}

// Kinds lists the names of every kind.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, string(k.Kind))
	}
	return names
}

// mixer returns the kind's mixer, nil for an unknown kind.
func (c Config) mixer() mixer {
	for _, k := range kinds {
		if k.Kind == c.Kind {
			return k.mixer
		}
	}
	return nil
}

func (c Config) checkRank(k int) error {
	if c.Rank < 1 || c.Rank > k {
		return fmt.Errorf("rank is %d: use 1 to the number of codes, %d", c.Rank, k)
	}
	return nil
}

func (c Config) checkAttention() error {
	if !(c.Temperature > 0) {
		return fmt.Errorf("temperature is %g: use a positive number", c.Temperature)
	}
	if !(c.Diagonal > 0 && c.Diagonal < 1) {
		return fmt.Errorf("diagonal is %g: use a weight between 0 and 1, such as 0.9", c.Diagonal)
	}
	return nil
}

// None is the transform that leaves codes as they are stored.
func None() Config {
	c := Default()
	c.Kind, c.FeatureMap, c.RowNorm = KindIdentity, false, RowNormNone
	return c
}

// IsNone says whether codes are used as they are stored.
func (c Config) IsNone() bool {
	return c.Kind == KindIdentity && !c.FeatureMap && c.RowNorm == RowNormNone
}
