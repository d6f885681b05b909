package vq

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/weights"
)

// Method is a family of quantizers. The zero value of a field means "as most methods do".
type Method struct {
	Name    string // in configuration files and on the command line
	Title   string // in tables
	Summary string // one line
	Meaning string // the meaning of a code to a reader; empty for residual and product codes

	// Defaults sets the best known practice, for vectors; nil keeps the common
	// settings. Pictures adjusts it to pictures, Paper to the published settings; nil
	// is a random start without resets.
	Defaults, Pictures, Paper Preset
	// Joint is the paper's other protocol, in which raw codes learn too; nil for methods without.
	Joint Preset
	// Check reports settings the method cannot work with; may be nil.
	Check func(c Config, dim int) error

	// Level makes one code position for residuals of dimension dim; nil is a table
	// of codes with nearest-code search.
	Level func(c Config, dim int) Level
	// Estimator carries gradients over the sum of a stack; nil is straight-through.
	Estimator func(c Config) Estimator
	// Classical fits the codes of a stack on the host, in place of training steps;
	// nil for methods that are trained.
	Classical ClassicalFitter
	// New replaces the stack of levels by a quantizer of another construction.
	New func(c Config, dim int) (Quantizer, error)

	Scales      bool // its Level reads [Context].Scale, as tables of codes do
	Transforms  bool // codes pass through [Config].Transform
	Concat      bool // networks of Transform.Levels begin with a layer over a code and what was sent
	Chooses     bool // codes are not the nearest ones in Euclidean distance: only the graph can assign them
	Independent bool // every level codes the latents themselves, not the residuals of the levels before
	Product     bool // codes lie side by side, not in levels
	Implicit    bool // codes are a fixed grid, of which none is stored
	Rotated     bool // codes are for latents in a learned rotation
}

// Preset changes settings of a quantizer and its learning rates.
type Preset func(c *Config, r *Rates)

// Rates are learning rates of the parameter groups, as multiples of the optimizer's rate.
type Rates struct {
	Codes     float64 `yaml:"codes" doc:"Raw codes E."`
	Mixer     float64 `yaml:"mixer" doc:"Mixer M."`
	Feature   float64 `yaml:"feature" doc:"Feature map W and the gain."`
	Condition float64 `yaml:"condition" doc:"Networks that codes depend on (transform.levels, transform.context)."`
	Radius    float64 `yaml:"radius" doc:"Learned radius scalars."`
}

// Of is the multiple of the base rate that a group trains with.
func (r Rates) Of(g weights.Group) float64 {
	rates := map[weights.Group]float64{
		weights.Codes: r.Codes, weights.Mixer: r.Mixer, weights.Feature: r.Feature,
		weights.Condition: r.Condition, weights.Shortlist: r.Condition, weights.Radius: r.Radius,
	}
	if rate, ok := rates[g]; ok {
		return rate
	}
	return 1
}

var (
	methods = map[string]Method{} // by name
	names   []string              // in the order of registration
)

// Register makes a method available by name in configurations, commands and
// comparisons. Call it from an init function. It panics when the name or the
// summary is missing or the name is taken.
func Register(m Method) {
	if m.Name == "" || m.Summary == "" {
		panic(fmt.Errorf("a quantizer needs a name and a summary, got %q and %q", m.Name, m.Summary))
	}
	if _, taken := methods[m.Name]; taken {
		panic(fmt.Errorf("two quantizers are named %q", m.Name))
	}
	if m.Title == "" {
		m.Title = m.Name
	}
	none := func(*Config, *Rates) {}
	if m.Defaults == nil {
		m.Defaults = none
	}
	if m.Pictures == nil {
		m.Pictures = none
	}
	if m.Paper == nil {
		m.Paper = plain
	}
	methods[m.Name] = m
	names = append(names, m.Name)
}

func plain(c *Config, _ *Rates) {
	c.Start = Start{From: "random"}
	c.Resets.Every = 0
}

// MethodNames lists the methods alphabetically.
func MethodNames() []string {
	return slices.Sorted(slices.Values(names))
}

// Summaries returns one line on every method, by name.
func Summaries() map[string]string {
	lines := map[string]string{}
	for name, m := range methods {
		lines[name] = m.Summary
	}
	return lines
}

// Title is a method's name in tables; an unknown name is its own title.
func Title(name string) string {
	if m, ok := methods[name]; ok {
		return m.Title
	}
	return name
}

// MethodNamed returns a registered method.
func MethodNamed(name string) (Method, error) {
	m, ok := methods[name]
	if !ok {
		return m, fmt.Errorf("unknown method %q, use one of %s", name, strings.Join(MethodNames(), ", "))
	}
	return m, nil
}

// Settings returns the method's defaults: the best known practice, with a k-means
// start and resets for every method that has them, so that comparisons are fair.
func (m Method) Settings() (Config, Rates) {
	c, r := commonDefaults(), Rates{Codes: 1, Mixer: 1, Feature: 1, Condition: 1, Radius: 0.1}
	c.Method = m.Name
	if m.Defaults != nil { // nil before registration
		m.Defaults(&c, &r)
	}
	return c, r
}

// Config returns the method's default configuration.
func (m Method) Config() Config {
	c, _ := m.Settings()
	return c
}

// Defaults returns the default configuration of the named method.
func Defaults(name string) (Config, error) {
	m, err := MethodNamed(name)
	if err != nil {
		return Config{}, err
	}
	return m.Config(), nil
}

// builtin is in the order configuration files show.
var builtin = []Method{
	GRIT, STE, EMA, STGumbel, NSVQ, DiVeQ, SpaceFillingDiVeQ, SimVQ, FSQ, LFQ, HyperVQ, Rotation, IBQ, RQVAE, QINCo, KMeansSTE,
	KMeans, PQ, OPQ, RQ, LSQ, LSH,
}

func init() {
	for _, m := range builtin {
		Register(m)
	}
}
