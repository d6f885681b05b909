package vq

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// SpaceFillingDiVeQ is SF-DiVeQ: codes are the corners of a curve, and
// training quantizes to points on its K-1 segments, drawn anew every step. With
// λ_j ~ U(0,1) and c_j = (1-λ_j)e_j + λ_j e_{j+1}, the segment i whose c_i is
// nearest gives
//
//	z_q = z + |e_i - z|·sg[(1-λ_i)v₁] + |e_{i+1} - z|·sg[λ_i v₂],
//
// v₁ and v₂ being [DiVeQ]'s blurred unit directions to the segment's ends. The
// whole curve follows the latents, so codes need neither auxiliary losses nor
// resets. A latent's token is the nearest code at inference and the nearer end of the
// segment in training; the published inference takes a point of the curve, see [Curve].
var SpaceFillingDiVeQ = Method{
	Name: "sf-diveq", Title: "SF-DiVeQ",
	Summary:  "DiVeQ towards random points of the curve through the codes (SF-DiVeQ)",
	Defaults: func(c *Config, _ *Rates) { c.Resets.Every = 0 },
	Level:    func(c Config, dim int) Level { return curve{codebook{position{c, dim}}} },
	Check:    checkNoise,
}

// curve is a codebook whose codes, in their order, are the corners of a curve.
type curve struct{ codebook }

func (b curve) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	codes, err := b.corners(rest, rng)
	if err != nil {
		return nil, nil, err
	}
	vars, err := b.init(codes, nil, 1, rng)
	return vars, codes, err
}

// corners puts clustered codes in the order of a short walk through them, so that
// segments cross little empty space.
func (b curve) corners(rest Latents, rng *rand.Rand) (*weights.Array, error) {
	if b.config.Start.From == "data" && rest.N >= b.config.Codes {
		return chunkMeans(rest, b.config.Codes), nil
	}
	codes, _, err := b.config.startCodes(rest, rng)
	if err != nil || b.config.Start.From == "random" {
		return codes, err
	}
	order, err := walk(rest.context(), codes, rng.Uint64())
	if err != nil {
		return nil, err
	}
	ordered := weights.New(codes.Shape...)
	for i, from := range order {
		copy(ordered.Row(i), codes.Row(from))
	}
	return ordered, nil
}

// chunkMeans splits the sample into k chunks and returns their means [k,d], the published start.
func chunkMeans(sample Latents, k int) *weights.Array {
	codes := weights.New(k, sample.Dim)
	for i := range k {
		first, end := i*sample.N/k, (i+1)*sample.N/k
		for r := first; r < end; r++ {
			for j, x := range sample.Row(r) {
				codes.Row(i)[j] += x / float32(end-first)
			}
		}
	}
	return codes
}

func (b curve) Assign(ctx *Context, residual *Node) Assigned {
	if !ctx.Training || ctx.Random == nil {
		return b.codebook.Assign(ctx, residual)
	}
	codes, segments := b.Usable(ctx), b.config.Codes-1
	fixed := StopGradient(codes)
	first, last := Slice(fixed, AxisRange(0, segments)), Slice(fixed, AxisRange(1, segments+1))
	shares := ctx.Random.Uniform(Slice(first, AxisRange(), AxisRange(0, 1))) // λ [K-1,1]
	segment := Nearest(residual, Add(first, Mul(shares, Sub(last, first))))  // [N]
	share := StopGradient(Take(shares, segment))                             // [N,1]

	next := OnePlus(segment)
	from, to := Take(codes, segment), Take(codes, next)
	fromGap, toGap := gapLength(residual, from), gapLength(residual, to)
	d := directed{noise: b.config.Noise}
	soft := Add(residual, Mul(fromGap, Mul(OneMinus(share), d.towards(ctx, residual, from))))
	soft = Add(soft, Mul(toGap, Mul(share, d.towards(ctx, residual, to))))

	index := Where(Squeeze(LessThan(toGap, fromGap), -1), next, segment)
	hard := Take(codes, index)
	return Assigned{Index: index, Hard: hard, Soft: soft, Loss: b.losses(ctx, residual, hard, index)}
}

// walkAtOnce bounds the codes that are put in order by comparing all pairs.
const walkAtOnce = 1024

// walk orders codes [K,d] so that the nearest remaining code always comes next.
// Many codes are clustered first, and the walk visits cluster after cluster.
func walk(ctx context.Context, codes *weights.Array, seed uint64) ([]int, error) {
	k, d := codes.Shape[0], codes.Shape[1]
	all := make([]int, k)
	for i := range all {
		all[i] = i
	}
	if k <= walkAtOnce {
		return walkFrom(codes, all, nil), nil
	}
	groups := int(math.Sqrt(float64(k)))
	o := index.KMeansOptions{Seed: seed, Iterations: startIterations}
	centers, _, err := index.KMeans(ctx, codes.Data, k, d, groups, o)
	if err != nil {
		return nil, err
	}
	search, err := index.NewCodes(centers, groups, d)
	if err != nil {
		return nil, err
	}
	group := make([]uint32, k)
	search.Nearest(codes.Data, k, group, nil, 0)
	members := make([][]int, groups)
	for i, g := range group {
		members[g] = append(members[g], i)
	}
	middles := &weights.Array{Shape: []int{groups, d}, Data: centers}
	var order []int
	for _, g := range walkFrom(middles, all[:groups], nil) {
		var last []float32
		if len(order) > 0 {
			last = codes.Row(order[len(order)-1])
		}
		order = append(order, walkFrom(codes, members[g], last)...)
	}
	return order, nil
}

// walkFrom begins with the row nearest to last, or with the first where that is nil.
func walkFrom(codes *weights.Array, rows []int, last []float32) []int {
	rest := slices.Clone(rows)
	order := make([]int, 0, len(rows))
	for len(rest) > 0 {
		best, at := math.Inf(1), 0
		for i, row := range rest {
			if last == nil {
				break
			}
			sum := 0.0
			for j, x := range codes.Row(row) {
				sum += float64(x-last[j]) * float64(x-last[j])
			}
			if sum < best {
				best, at = sum, i
			}
		}
		order = append(order, rest[at])
		last = codes.Row(rest[at])
		rest[at] = rest[len(rest)-1]
		rest = rest[:len(rest)-1]
	}
	return order
}
