package vq

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// method is a quantizer family: its best-practice settings and the parts a
// stack is composed of. Each lives in a file of its own.
type method struct {
	summary  string
	defaults func(c *Config)
	// level makes one code position for residuals of dimension dim; nil is a
	// [codebook].
	level func(c Config, dim int) level
	// estimator carries gradients over the sum of a stack; nil is
	// straight-through.
	estimator func(c Config) estimator
	// check reports settings the method cannot work with; may be nil.
	check func(c Config, dim int) error
	// chooses says that codes are not the nearest ones in Euclidean distance,
	// so that only the graph can assign them.
	chooses bool
	// classical fits the codes of a stack on the host, in place of training
	// steps; nil for methods that are trained.
	classical fitter
	// independent says that every level codes the latents themselves, not what
	// the levels before left over.
	independent bool
	// product says that the method's codes lie side by side, not in levels.
	product bool
	// grid says that codes are a fixed grid of which none is stored.
	grid bool
	// rotated says that codes are for latents in a learned rotation.
	rotated bool
	// beam is the number of partial encodings kept by default; 0 is greedy.
	beam int
}

var errFixedCodes = errors.New("this method's codes cannot be moved; set quantizer.resets.every to 0")

// methods holds every quantizer by its command-line name.
var methods = map[string]method{
	"grit":       gritMethod,
	"ste":        steMethod,
	"ema":        emaMethod,
	"rotation":   rotationMethod,
	"nsvq":       nsvqMethod,
	"diveq":      diveqMethod,
	"sf-diveq":   spaceFillingMethod,
	"simvq":      simvqMethod,
	"fsq":        fsqMethod,
	"lfq":        lfqMethod,
	"rqvae":      rqvaeMethod,
	"kmeans-ste": kmeansSTEMethod,
	"kmeans":     kmeansMethod,
	"pq":         pqMethod,
	"opq":        opqMethod,
	"rq":         rqMethod,
	"lsh":        lshMethod,
	"gumbel":     gumbelMethod,
	"ibq":        ibqMethod,
	"hypervq":    hypervqMethod,
}

// MethodNames lists the methods alphabetically.
func MethodNames() []string {
	names := make([]string, 0, len(methods))
	for name := range methods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Methods holds one line on every quantizer, by its command-line name.
var Methods = func() map[string]string {
	lines := map[string]string{}
	for name, m := range methods {
		lines[name] = m.summary
	}
	return lines
}()

// Defaults returns a method at its best known practice: k-means start and
// resets for every method that has them, so that comparisons are fair.
func Defaults(name string) (Config, error) {
	m, ok := methods[name]
	if !ok {
		return Config{}, fmt.Errorf("unknown method %q, use one of %s", name, strings.Join(MethodNames(), ", "))
	}
	c := commonDefaults()
	c.Method = name
	m.defaults(&c)
	return c, nil
}
