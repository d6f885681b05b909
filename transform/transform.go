// Package transform turns the raw codebook E [K,d] into the usable codes
// C' [K,d], the integrated transform E' = M E W of the paper: M mixes codes,
// W acts on features, and rows are optionally normalised.
//
// [Config.Init] gives the variables, [Config.Apply] and [Config.Rows] are the graph
// code, [Config.Usable] is the same map in float64 on the host, and [Config.Place]
// moves usable codes to given places (dead-code resets and running averages).
//
// # Variables
//
//	mixer/a              A [K,r]               linear, lowrank, attention-lowrank, attention-rownorm
//	mixer/b              Bᵀ [r,K]              linear, lowrank, attention-lowrank, attention-rownorm
//	mixer/length         g [1]                 attention-rownorm
//	mixer/m              M                     full [K,K], grouped [blocks*size,size]
//	mixer/query          U1 [d,s]              attention, attention-topk
//	mixer/key            V1 [d,s]              attention, attention-topk
//	mixer/bias           self preference [1]   every other attention kind
//	feature/w            W [d,d]               when FeatureMap
//	feature/gain         gain [1]              when RowNorm is gain
//	state/source         E0 [K,d], frozen      linear with Joint
//	state/neighbours     indices [K,k]         attention-topk
//	state/feature_u      [d]                   when SpectralClip is on
//
// # Which codes move
//
// dL/dE' is nonzero only on the selected rows, so the rows of dA and dM of
// unselected codes are zero. In the linear kind with Joint, unselected codes move
// only through W, B and the gain (and not through B while A = 0); in the other
// kinds with Joint they also move through the codes they mix.
package transform

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	KindAttentionRowNorm Kind = "attention-rownorm" // the paper's low-rank attention, rows of A Bᵀ normalised: 2 K r d
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
	Rank         int     `yaml:"rank" doc:"columns of A and B (linear, lowrank, attention-rownorm), prototypes (attention-lowrank)"`
	Groups       int     `yaml:"groups" doc:"diagonal blocks of the grouped mixer; the last one is smaller when they do not divide the codes"`
	TopK         int     `yaml:"topk" doc:"codes a row of attention-topk keeps, itself included"`
	ScoreDim     int     `yaml:"score_dim" doc:"width of the attention's queries and keys"`
	Temperature  float64 `yaml:"temperature"`
	Diagonal     float64 `yaml:"diagonal" doc:"mean weight a code gives itself at the start (attention)"`
	RowNorm      string  `yaml:"row_norm" enum:"none|latent|gain"`
	SpectralClip float64 `yaml:"spectral_clip" doc:"bound on the spectral norm of W, 0 for none"`
	FeatureMap   bool    `yaml:"feature_map" doc:"whether there is a W"`
	Context      int     `yaml:"context"`
	ContextWidth int     `yaml:"context_width"`
	Levels       string  `yaml:"levels" enum:"none|affine|implicit"`
	Hidden       int     `yaml:"hidden" doc:"levels: width of the network over the vectors sent"`
	Blocks       int     `yaml:"blocks" doc:"levels: residual blocks of the network (implicit)"`
	HiddenDrop   float64 `yaml:"hidden_drop" doc:"levels: share of the network's hidden values dropped in training steps"`
	Candidates   int     `yaml:"candidates" doc:"levels: codes of a level that are compared exactly (implicit)"`
	Joint        bool    `yaml:"-"` // the raw codes are trained too (protocol B); follows from how codes learn
}

// Enums implements config.Enumerated.
func (Config) Enums() map[string][]string { return map[string][]string{"kind": Kinds()} }

// Docs implements config.Documented.
func (Config) Docs() map[string]string {
	return map[string]string{
		"row_norm": "normalisation of the usable codes: none, unit rows with normalised latents, or unit rows with a " +
			"learned gain",
		"temperature": "divides the attention's scores: lower is sharper (attention-rownorm: lower makes rows more equal in length)",
		"context": "pictures: phases in which cells are coded, each with codes of its own: 2 (checkerboard) or 4; later " +
			"ones are shifted and scaled by a network over the codes sent before; 0 for none",
		"context_width": "channels of that network; 0 leaves it out, so that phases only have codes of their own",
		"levels": "how the codes of later levels depend on the vectors that earlier levels sent: not at all, shifted and " +
			"scaled (affine), or moved by a network each (implicit)",
	}
}

// Default is the transform that does best on real data: identity plus low rank,
// joint codes, no row normalisation. At K = 1024, d = 64 it costs about 5 % of a
// small autoencoder's training step of 1024 latents (see BenchmarkOverhead).
func Default() Config {
	return Config{
		Kind: KindLinear, Rank: 32, Groups: 8, TopK: 6, ScoreDim: 16,
		Temperature: 1, Diagonal: 0.9, RowNorm: RowNormNone,
		FeatureMap: true, ContextWidth: 128, Joint: true,
		Levels: LevelsNone, Hidden: 64, Blocks: 1, Candidates: 16,
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
	if !slices.Contains([]string{RowNormNone, RowNormLatent, RowNormGain}, c.RowNorm) {
		return fmt.Errorf("row_norm %q is unknown: use none, latent or gain", c.RowNorm)
	}
	if !(c.SpectralClip >= 0) {
		return fmt.Errorf("spectral_clip is %g: use a positive bound, or 0 for none", c.SpectralClip)
	}
	if err := errors.Join(c.checkContext(), c.checkLevels()); err != nil {
		return err
	}
	return m.check(c, k, d)
}

// hasFeature is false for the identity, the codebook without a transform.
func (c Config) hasFeature() bool { return c.FeatureMap && c.Kind != KindIdentity }

// mixer is the map E -> M E of a kind.
type mixer interface {
	check(c Config, k, d int) error
	// start adds the initial variables of these codes to set.
	start(c Config, set weights.Set, codes *weights.Array, rng *rand.Rand) error
	// mix returns M E [K,d] on the host.
	mix(c Config, p variables) []float64
	// place changes variables so that rows of M E become y [len(rows),d].
	place(c Config, set weights.Set, codes *weights.Array, rows []int, y []float64) ([]Touched, error)
	// graph returns M E [K,d], or its rows at [N,1] unless at is nil.
	graph(c Config, v weights.Vars, codes, at *graph.Node) *graph.Node
}

// attending is a mixer whose rows are softmax weights of a mean entropy.
type attending interface {
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
	{KindIdentity, identityMixer{}}, {KindLinear, linearMixer{}}, {KindLowRank, lowRankMixer{}},
	{KindFull, groupedMixer{full: true}}, {KindGrouped, groupedMixer{}},
	{KindAttention, attentionMixer{}}, {KindAttentionTopK, topKMixer{}}, {KindAttentionLowRank, prototypeMixer{}},
	{KindAttentionRowNorm, rowNormMixer{}},
}

// Kinds lists the kinds.
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

func (c Config) checkTemperature() error {
	if !(c.Temperature > 0) || math.IsInf(c.Temperature, 0) {
		return fmt.Errorf("temperature is %g: use a positive number", c.Temperature)
	}
	return nil
}

func (c Config) checkAttention() error {
	if err := c.checkTemperature(); err != nil {
		return err
	}
	if !(c.Diagonal > 0 && c.Diagonal < 1) {
		return fmt.Errorf("diagonal is %g: use a weight between 0 and 1, such as 0.9", c.Diagonal)
	}
	return nil
}

// None leaves codes as they are stored.
func None() Config {
	c := Default()
	c.Kind, c.FeatureMap, c.RowNorm = KindIdentity, false, RowNormNone
	return c
}

// IsNone says whether codes are used as they are stored.
func (c Config) IsNone() bool {
	return c.Kind == KindIdentity && !c.FeatureMap && c.RowNorm == RowNormNone
}
