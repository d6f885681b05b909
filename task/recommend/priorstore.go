package recommend

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/task/recommend/classical"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// The paths of a stored mixture, below priorPath. A method's arrays and settings are
// below its name.
const (
	priorPath    = "prior"
	methodPath   = "method"
	countsPath   = "counts"
	settingsPath = "settings" // of a mixture its power of popularity; of a method last, decay, rest, power
)

// pack returns the arrays of a mixture.
func (m *mixture) pack() weights.Set {
	set := weights.Set{
		countsPath:   {Shape: []int{len(m.counts)}, Data: m.counts},
		settingsPath: {Shape: []int{1}, Data: []float32{float32(m.popular)}},
	}
	for _, p := range m.parts {
		w := p.method.Weightings()[0]
		numbers := []float32{float32(w.Last), float32(w.Decay), float32(p.rest), float32(p.power)}
		set.Merge(p.name, weights.Set{settingsPath: {Shape: []int{4}, Data: numbers}}.Merge(methodPath, p.fitted.Pack()))
	}
	return set
}

// loadPrior makes a prior of stored variables, for a catalogue that may have more items
// than the one it was fitted on.
func loadPrior(set weights.Set, name string, items int) (network.Prior, error) {
	arrays := set.Sub(priorPath)
	counts, settings := arrays[countsPath], arrays[settingsPath]
	if counts == nil || len(counts.Data) > items || settings == nil {
		return nil, fmt.Errorf("the table that the model starts from is incomplete or is not of these %d items", items)
	}
	counted := append(slices.Clone(counts.Data), make([]float32, items-len(counts.Data))...)
	if len(settings.Data) == 4 { // of an earlier version, which stored one method
		if name == popularityName {
			return newMixture(nil, float64(settings.Data[3]), counted), nil
		}
		p, err := loadPart(arrays, name, items)
		if err != nil {
			return nil, err
		}
		return newMixture([]part{p}, 0, counted), nil
	}
	var parts []part
	for _, m := range startMethods {
		if own := arrays.Sub(m.name); len(own) > 0 {
			p, err := loadPart(own, m.name, items)
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
		}
	}
	return newMixture(parts, float64(settings.Data[0]), counted), nil
}

// loadPart makes a method of its arrays and settings.
func loadPart(arrays weights.Set, name string, items int) (part, error) {
	at := slices.IndexFunc(startMethods, func(m startMethod) bool { return m.name == name })
	if at < 0 {
		return part{}, fmt.Errorf("there is no classical method %q to start from", name)
	}
	settings := arrays[settingsPath]
	if settings == nil || len(settings.Data) != 4 {
		return part{}, fmt.Errorf("the settings of %s, which the model starts from, are incomplete", name)
	}
	last, decay, rest, power := settings.Data[0], settings.Data[1], settings.Data[2], settings.Data[3]
	method := startMethods[at].method.With(classical.Weighting{Last: int(last), Decay: float64(decay)})
	scorer, err := method.Load(arrays.Sub(methodPath), items)
	return part{name: name, method: method, scorer: scorer, rest: float64(rest), power: float64(power)}, err
}

// joined are a model's variables with the arrays of its prior.
func (p *Prior) joined(set weights.Set) weights.Set {
	if p == nil {
		return set
	}
	return maps.Clone(set).Merge(priorPath, p.arrays)
}

// learned are the variables of a model without the arrays of its prior.
func learned(set weights.Set) weights.Set {
	rest := maps.Clone(set)
	maps.DeleteFunc(rest, func(path string, _ *weights.Array) bool { return strings.HasPrefix(path, priorPath+"/") })
	return rest
}
