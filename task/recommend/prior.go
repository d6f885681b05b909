package recommend

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gritvq/gritvq/task/recommend/classical"
	"github.com/gritvq/gritvq/task/recommend/network"
	"github.com/gritvq/gritvq/weights"
)

// Prior is the classical answer that a network starts from, with its arrays.
type Prior struct {
	network.Prior
	name   string // value of the setting prior
	text   string // the answer in a few words
	arrays weights.Set
}

// The values of the setting prior that name no method.
const (
	autoPrior = "auto"
	noPrior   = "none"

	blendPrior     = "blend" // several methods
	popularityName = "popularity"
)

// startMethods are the methods that a recommender may start from.
var startMethods = []startMethod{
	{"transitions", classical.DefaultTransitions()}, {"itemknn", classical.DefaultItemKNN()}, {"ease", classical.DefaultEASE()},
}

type startMethod struct {
	name   string
	method classical.Method
}

// comparedUsers is the factor of validation users that methods are compared on: there are
// fewer of them than settings, so a comparison may take longer.
const comparedUsers = 5

// quickRegression is the number of items up to which EASE is fitted only to see
// whether it is the best method: its time grows with their cube.
const quickRegression = 5000

// fitPrior fits a method on the training part of a log, or, as a blend, all of them
// together. Their settings are chosen by NDCG@10 on validation users, at most so many;
// auto is what has the best on comparedUsers times as many.
func fitPrior(ctx context.Context, d *Dataset, name string, limit int) (*Prior, error) {
	cases, counts := d.Cases(ValidationPart, limit), d.popularity()
	var parts []part
	var p *Prior
	best := -1.0
	try := func(name string, parts []part) error {
		m := newMixture(parts, 1, counts).calibrated(cases, d.dropsSeen())
		score, err := d.validate(ctx, m, comparedUsers*limit)
		if err == nil && score > best {
			best, p = score, &Prior{Prior: m, name: name, text: m.String(), arrays: m.pack()}
		}
		return err
	}
	if name == popularityName {
		return p, cmp.Or(try(name, nil), ctx.Err())
	}
	for _, m := range startMethods {
		skipped := m.name == "ease" && d.Table.Len() > quickRegression
		if name != m.name && (name != autoPrior && name != blendPrior || skipped) {
			continue
		}
		method, fitted, err := chooseMethod(ctx, d, m.method, limit)
		if err != nil {
			return nil, err
		}
		one := part{name: m.name, method: method, scorer: fitted}
		parts = append(parts, one)
		if name != blendPrior {
			if err := try(m.name, []part{one}); err != nil {
				return nil, err
			}
		}
	}
	if name == autoPrior || name == blendPrior {
		if err := try(blendPrior, parts); err != nil {
			return nil, err
		}
	}
	if p == nil {
		return nil, fmt.Errorf("there is no classical method %q to start from", name)
	}
	return p, nil
}
