package train

import (
	"slices"
	"strings"

	"github.com/gritvq/gritvq/optim"
	"github.com/gritvq/gritvq/weights"
)

// Restart restarts the optimizer with the given variables, from now on all of the
// model's.
func (t *Trainer) Restart(set weights.Set) error {
	t.state.Since = t.state.Step
	return t.install(set)
}

// Assist adds Assisting variables in the course of a run. Their optimizer begins here.
func (t *Trainer) Assist(set weights.Set) error {
	t.state.Assisted = t.state.Step
	if err := t.bank.Install(t.withState(set)); err != nil {
		return err
	}
	all, err := t.bank.Read("")
	t.list(all)
	return err
}

// install adds variables with fresh optimizer state and averages.
func (t *Trainer) install(set weights.Set) error {
	t.list(set)
	return t.bank.Install(t.withState(set))
}

// withState adds optimizer state and averages to variables.
func (t *Trainer) withState(set weights.Set) weights.Set {
	trained, all := weights.Set{}, weights.Set{}.Merge("", set)
	for p, a := range set {
		role := t.role(p)
		if role == Trained || role == Deferred || role == Assisting {
			trained[p] = a
		}
		if (role == Trained || role == Assisting) && t.parts() > 1 {
			all[partialPrefix+p] = weights.New(a.Shape...)
		}
		if role >= Trained && t.config.Average > 0 {
			all[AveragePrefix+p] = a.Clone()
		}
	}
	return all.Merge("", t.config.Optimizer.Init(trained))
}

// list finds the model's trained and averaged variables.
// Programs are compiled anew for them when next needed.
func (t *Trainer) list(set weights.Set) {
	t.dropPrograms()
	t.parameters, t.averaged, t.assisting = nil, nil, nil
	for _, p := range set.Paths() {
		carrier, role := t.bank.Carrier(p), t.role(p)
		if role == Assisting && !training(p) {
			t.assisting = append(t.assisting, p)
		}
		if training(p) || role < Trained {
			continue
		}
		if role == Trained && !slices.Contains(t.parameters, carrier) {
			t.parameters = append(t.parameters, carrier)
		}
		if t.config.Average > 0 && !slices.Contains(t.averaged, carrier) {
			t.averaged = append(t.averaged, carrier)
		}
	}
}

// training says whether a path is one of optimizer state or averages.
func training(p string) bool {
	return strings.HasPrefix(p, optim.Prefix) || strings.HasPrefix(p, AveragePrefix)
}

// pack makes the trained variables of a group travel together, and the constants.
func (t *Trainer) pack(first weights.Set) {
	trained := map[weights.Group]weights.Set{}
	for p, a := range first {
		if g := t.group(p); t.role(p) == Trained {
			trained[g] = weights.Set{p: a}.Merge("", trained[g])
		}
	}
	families := []string{AveragePrefix, partialPrefix}
	for _, slot := range t.config.Optimizer.Slots() {
		families = append(families, slot.Prefix)
	}
	for _, g := range weights.Groups { // the path of a pack names its group
		t.bank.Pack(packPrefix+string(g), trained[g], families...)
	}
	t.bank.Pack("constant", t.problem.Constants)
}

// packPrefix begins the paths of packs; the group follows.
const packPrefix = "packed/"

// group is the group of a variable or of a pack.
func (t *Trainer) group(path string) weights.Group {
	if rest, packed := strings.CutPrefix(path, packPrefix); packed {
		name, _, _ := strings.Cut(rest, "/")
		return weights.Group(name)
	}
	if t.problem.Group == nil {
		return weights.GroupOf(path)
	}
	return t.problem.Group(path)
}

func (t *Trainer) parts() int { return max(1, t.problem.Parts) }

func (t *Trainer) role(path string) Role {
	switch {
	case t.problem.Role != nil:
		return t.problem.Role(path)
	case weights.GroupOf(path) == weights.State:
		return Fixed
	}
	return Trained
}

// Variables returns the variables to export, without optimizer state and other
// internal ones. With averaged, averages take their place if they are kept.
func (t *Trainer) Variables(averaged bool) (weights.Set, error) {
	all, err := t.bank.Read("")
	if err != nil {
		return nil, err
	}
	set := weights.Set{}
	for p, a := range all {
		if training(p) || t.problem.Constants[p] != nil || t.role(p) == Internal || t.role(p) == Assisting {
			continue
		}
		set[p] = a
		if average := all[AveragePrefix+p]; averaged && average != nil {
			set[p] = average
		}
	}
	return set, nil
}
