package vq

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// LSH is random-hyperplane hashing (Charikar 2002): every level is a table of
// log2 K Gaussian hyperplanes through the origin, and the token of z is
//
//	Σ_j 2^j [⟨w_j, z⟩ > 0].
//
// All tables hash the vector itself. A bucket of the first table decodes to the
// mean of its training vectors, a bucket of a later table to the mean of their
// residuals under the tables before, an empty bucket to 0. So the error of the
// training vectors falls with every table, and leading tables decode alone.
var LSH = Method{
	Name: "lsh", Title: "LSH",
	Summary:     "random hyperplanes, decoded by the means of their buckets",
	Meaning:     "Each code tells on which sides of random planes an item lies; none is coarser than another.",
	Defaults:    classicalDefaults,
	Level:       func(c Config, dim int) Level { return hashTable{position{c, dim}} },
	Check:       checkLSH,
	Chooses:     true,
	Independent: true,
	Classical:   fitTables,
}

func checkLSH(c Config, dim int) error {
	if c.Codes&(c.Codes-1) != 0 {
		return fmt.Errorf("quantizer.codes: lsh has one code a pattern of bits, so %d must be a power of two such as %d",
			c.Codes, 1<<log2(c.Codes))
	}
	return checkClassical(c, dim)
}

// hashTable has hyperplanes "state/planes" [log2 K,d]; buckets decode to "codes".
type hashTable struct{ position }

func (t hashTable) planes() int { return log2(t.config.Codes) }

// log2 is the logarithm of n, rounded down.
func log2(n int) int { return bits.Len(uint(n)) - 1 }

func (t hashTable) Start(rest Latents, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	vars, _ := t.learn(rest, rest, rng)
	return vars, vars["codes"], nil
}

// learn draws hyperplanes, hashes the sample into buckets [N], and takes for each
// the mean of its rows of rest.
func (t hashTable) learn(sample, rest Latents, rng *rand.Rand) (weights.Set, []int) {
	planes, codes := weights.Normal(rng, 1, t.planes(), t.dim), weights.New(t.config.Codes, t.dim)
	buckets, counts, sums := make([]int, sample.N), make([]int, t.config.Codes), make([]float64, len(codes.Data))
	for i := range sample.N {
		row := sample.Row(i)
		for j := range t.planes() {
			along := 0.0
			for c, w := range planes.Row(j) {
				along += float64(w) * float64(row[c])
			}
			if along > 0 {
				buckets[i] |= 1 << j
			}
		}
		counts[buckets[i]]++
		sum := sums[buckets[i]*t.dim : (buckets[i]+1)*t.dim]
		for c, x := range rest.Row(i) {
			sum[c] += float64(x)
		}
	}
	for i := range codes.Data {
		if n := counts[i/t.dim]; n > 0 {
			codes.Data[i] = float32(sums[i] / float64(n))
		}
	}
	return weights.Set{"state/planes": planes, "codes": codes}, buckets
}

func fitTables(f *Fitting, c Config, sample Latents, rng *rand.Rand) (weights.Set, error) {
	set := weights.Set{}
	table := hashTable{position{c, sample.Dim}}
	rest := sample.clone()
	for l := range c.Levels {
		if err := f.ctx.Err(); err != nil {
			return nil, fmt.Errorf("hashing stopped: %w", err)
		}
		vars, buckets := table.learn(sample, rest, rng)
		set.Merge(levelPath(l), vars)
		left := 0.0
		for i, bucket := range buckets {
			row := rest.Row(i)
			for j, x := range vars["codes"].Row(bucket) {
				row[j] -= x
				left += float64(row[j]) * float64(row[j])
			}
		}
		f.done += f.iterations
		f.report(left)
	}
	return set, nil
}

func (t hashTable) Assign(ctx *Context, z *Node) Assigned {
	z = StopGradient(z)
	along := DotGeneral(z, []int{1}, nil, ctx.Vars.Get("state/planes"), []int{1}, nil) // [N,planes]
	set := ConvertDType(GreaterThan(along, ScalarZero(z.Graph(), z.DType())), dtypes.Int32)
	powers := slices.Repeat(radix{2}, t.planes()).places()
	index := ReduceSum(Mul(set, ExpandAxes(Const(z.Graph(), powers), 0)), -1)
	return Assigned{Index: index, Hard: Take(ctx.Vars.Get("codes"), index), Loss: Zeros(z.Graph(), shapes.Make(z.DType()))}
}

func (t hashTable) Usable(ctx *Context) *Node { return ctx.Vars.Get("codes") }
