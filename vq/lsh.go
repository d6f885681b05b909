package vq

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/gritvq/gritvq/weights"

	. "github.com/gomlx/gomlx/core/graph"
)

// LSH composes random-hyperplane hashing (Charikar 2002): every level is a table
// of log2 K Gaussian hyperplanes through the origin, and the token of z is
//
//	Σ_j 2^j [⟨w_j, z⟩ > 0].
//
// All tables hash the vector itself. So that codes can be decoded, a bucket of
// the first table stands for the mean of its training vectors, and a bucket of a
// later table for the mean of what the tables before it leave of its own;
// buckets without training vectors add nothing. The error of the training
// vectors therefore falls with every table, and leading tables decode alone.
func LSH() Config {
	c, _ := Defaults("lsh")
	return c
}

var lshMethod = method{
	summary:     "random hyperplanes, decoded by the means of their buckets",
	defaults:    classicalDefaults,
	level:       func(c Config, dim int) level { return hashTable{codes: c.Codes, dim: dim} },
	check:       checkLSH,
	chooses:     true,
	independent: true,
	classical:   fitTables,
}

func checkLSH(c Config, dim int) error {
	if c.Codes&(c.Codes-1) != 0 {
		return fmt.Errorf("quantizer.codes: lsh has one code a pattern of bits, so %d must be a power of two such as %d", c.Codes, 1<<log2(c.Codes))
	}
	return checkClassical(c, dim)
}

// hashTable is one code position: hyperplanes "state/planes" [log2 K,d] and what
// buckets decode to, "codes" [K,d].
type hashTable struct {
	unchanging
	codes, dim int
}

func (t hashTable) vocab() int { return t.codes }

func (t hashTable) planes() int { return log2(t.codes) }

// log2 is the logarithm of n, rounded down.
func log2(n int) int {
	bits := 0
	for ; n > 1; n /= 2 {
		bits++
	}
	return bits
}

// start implements [level].
func (t hashTable) start(rest Sample, rng *rand.Rand) (weights.Set, *weights.Array, error) {
	vars, _ := t.learn(rest, rest, rng)
	return vars, vars["codes"], nil
}

// learn draws hyperplanes, hashes the sample, and takes for each bucket the mean
// of the rows of rest that fell into it. It also returns the buckets [N].
func (t hashTable) learn(sample, rest Sample, rng *rand.Rand) (weights.Set, []int) {
	planes, codes := weights.Normal(rng, 1, t.planes(), t.dim), weights.New(t.codes, t.dim)
	buckets, counts, sums := make([]int, sample.N), make([]int, t.codes), make([]float64, t.codes*t.dim)
	for i := range sample.N {
		row := sample.Rows[i*t.dim : (i+1)*t.dim]
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
		for c, x := range rest.Rows[i*t.dim : (i+1)*t.dim] {
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

// fitTables fits table after table.
func fitTables(f *fitting, c Config, sample Sample, rng *rand.Rand) (weights.Set, error) {
	set := weights.Set{}
	table := hashTable{codes: c.Codes, dim: sample.Dim}
	rest := Sample{Rows: slices.Clone(sample.Rows), N: sample.N, Dim: sample.Dim}
	for l := range c.Levels {
		if err := f.ctx.Err(); err != nil {
			return nil, fmt.Errorf("hashing stopped: %w", err)
		}
		vars, buckets := table.learn(sample, rest, rng)
		set.Merge(levelName(l), vars)
		left := 0.0
		for i, bucket := range buckets {
			row := rest.Rows[i*rest.Dim : (i+1)*rest.Dim]
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

// assign implements [level]. Every table is given the vectors themselves.
func (t hashTable) assign(ctx *Context, z *Node) assigned {
	z = StopGradient(z)
	along := DotGeneral(z, []int{1}, nil, ctx.Vars.Get("state/planes"), []int{1}, nil) // [N,planes]
	set := ConvertDType(GreaterThan(along, ScalarZero(z.Graph(), z.DType())), dtypes.Int32)
	powers := make([]int32, t.planes())
	for j := range powers {
		powers[j] = 1 << j
	}
	index := ReduceSum(Mul(set, ExpandAxes(Const(z.Graph(), powers), 0)), -1)
	return assigned{index: index, hard: Take(ctx.Vars.Get("codes"), index), loss: Zeros(z.Graph(), shapes.Make(z.DType()))}
}

func (t hashTable) usable(ctx *Context) *Node { return ctx.Vars.Get("codes") }
