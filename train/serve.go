package train

import (
	"context"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/weights"
)

// Server answers with the variables it was last given, without compiling its
// programs again when they change.
type Server interface {
	Update(ctx context.Context, set weights.Set) error
	Close()
}

// RunServing is Run of a model that is scored by the answers of a server. The
// server is made once, for all evaluations, and returned with the variables to
// keep; the caller closes it. It takes the place of problem.Evaluate.
func RunServing[S Server](ctx context.Context, backend compute.Backend, problem Problem, config Config, o Options,
	open func(ctx context.Context, set weights.Set) (S, error),
	score func(ctx context.Context, server S) (float64, map[string]float64, error),
) (result *Result, server S, err error) {
	made := false
	use := func(ctx context.Context, set weights.Set) (err error) {
		if made {
			return server.Update(ctx, set)
		}
		server, err = open(ctx, set)
		made = err == nil
		return err
	}
	problem.Evaluate = func(ctx context.Context, set weights.Set) (float64, map[string]float64, error) {
		if err := use(ctx, set); err != nil {
			return 0, nil, err
		}
		return score(ctx, server)
	}
	if result, err = Run(ctx, backend, problem, config, o); err == nil {
		err = use(ctx, result.Weights)
	}
	if err != nil && made {
		server.Close()
	}
	return result, server, err
}
