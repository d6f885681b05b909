package vq

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// SimVQ is a frozen Gaussian codebook E under one learned affine map,
// C' = E Wᵀ + b, so that every step moves all codes. Codes are chosen and decoded
// from C', straight-through, with VQ-VAE's two losses (β = 0.25 on the encoder's
// term).
//
// From data the map starts so that C' is the best Gaussian codebook for Gaussian
// latents: their mean, and their covariance less the distortion of K codes (reverse
// water-filling). Most codes as wide as the latents would lie too far out to be
// chosen. From random it starts as published, W = I and b = 0.
var SimVQ = Method{
	Name: "simvq", Title: "SimVQ",
	Summary: "frozen Gaussian codes under one learned linear map (SimVQ)",
	Defaults: func(c *Config, r *Rates) {
		implicitDefaults(c, r) // two moments are estimated here, too
		c.Learn = "frozen"
		c.Loss.Codebook, c.Loss.Commitment = 1, 0.25
		r.Feature = 10 // all codes move through W alone
	},
	Level:  func(c Config, dim int) Level { return simvq{position{c, dim}} },
	Check:  checkSimVQ,
	Scales: true,
}

func checkSimVQ(c Config, _ int) error {
	switch {
	case c.Start.From == "kmeans" || c.Start.From == "rq":
		return fmt.Errorf("quantizer.start.from: simvq's raw codes are Gaussian, not clustered; use data or random")
	case c.Loss.Usage > 0:
		return fmt.Errorf("quantizer.loss.usage: simvq has no usage regulariser, set it to 0")
	}
	return nil
}

// simvq has frozen codes, "feature/w" W [d,d] and "feature/bias" b [d].
type simvq struct{ position }

// init returns the variables for given codes, used as they are at first.
func (s simvq) init(codes *weights.Array, _ []int, _ float64, _ *rand.Rand) (weights.Set, error) {
	return weights.Set{"codes": codes, "feature/w": weights.Eye(s.dim), "feature/bias": weights.New(s.dim)}, nil
}

func (s simvq) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	codes := weights.Normal(rng, 1/math.Sqrt(float64(s.dim)), s.config.Codes, s.dim)
	vars, err := s.init(codes, nil, 1, rng)
	if err != nil || s.config.Start.From == "random" {
		return vars, codes, err
	}
	stats, err := principal(rest)
	if err != nil {
		return nil, nil, err
	}
	// E has covariance I/d: W = √d V S Vᵀ gives E Wᵀ the deviations S along V.
	w, bias := vars["feature/w"], vars["feature/bias"]
	deviations := codedDeviations(stats.deviation, math.Log2(float64(s.config.Codes)))
	for i := range s.dim {
		bias.Data[i] = float32(stats.mean[i])
		for j := range s.dim {
			sum := 0.0
			for k, deviation := range deviations {
				sum += stats.directions[k][i] * deviation * stats.directions[k][j]
			}
			w.Row(i)[j] = float32(math.Sqrt(float64(s.dim)) * sum)
		}
	}
	usable := weights.New(s.config.Codes, s.dim)
	for n := range s.config.Codes {
		for i := range s.dim {
			sum := bias.Data[i]
			for j, x := range codes.Row(n) {
				sum += x * w.Row(i)[j]
			}
			usable.Row(n)[i] = sum
		}
	}
	return vars, usable, nil
}

func (s simvq) Usable(ctx *Context) *Node {
	mapped := DotGeneral(ctx.Vars.Get("codes"), []int{1}, nil, ctx.Vars.Get("feature/w"), []int{1}, nil)
	return Add(mapped, ExpandAxes(ctx.Vars.Get("feature/bias"), 0))
}

func (s simvq) Assign(ctx *Context, residual *Node) Assigned {
	codes := s.Usable(ctx)
	index := ctx.choose(residual, codes)
	hard := ctx.scaled(Take(codes, index))
	return Assigned{Index: index, Hard: hard, Loss: s.losses(ctx, residual, hard, index)}
}

// codedDeviations are √max(0, σ²-θ), the deviations of the best Gaussian code along
// components of deviations σ; the distortion θ spends Σ ½ log₂ max(1, σ²/θ) bits.
func codedDeviations(deviations []float64, bits float64) []float64 {
	spent := func(distortion float64) float64 {
		sum := 0.0
		for _, s := range deviations {
			sum += max(0, 0.5*math.Log2(s*s/distortion))
		}
		return sum
	}
	low, high := 0.0, deviations[0]*deviations[0]
	for range 100 {
		if middle := (low + high) / 2; middle > 0 && spent(middle) <= bits {
			high = middle
		} else {
			low = middle
		}
	}
	coded := make([]float64, len(deviations))
	for i, s := range deviations {
		coded[i] = math.Sqrt(max(0, s*s-high))
	}
	return coded
}
