package picture

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// openScenes opens n built-in pictures of the given size.
func openScenes(ctx context.Context, n, size int) (*images.Set, error) {
	return images.Open(ctx, fmt.Sprintf("synthetic:scenes?images=%d&size=%d", n, size), images.Options{Size: size})
}

func scenes(tb testing.TB, n, size int) *images.Set {
	tb.Helper()
	set, err := openScenes(tb.Context(), n, size)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { set.Close() })
	return set
}

// startUntrained returns a tokenizer of pictures whose network is random and
// whose codes, 24 a position, are latents of built-in pictures.
func startUntrained(
	ctx context.Context, engine compute.Backend, size int, widths []int, levels, parts int, change ...func(*vq.Config),
) (*tokenizer.Runtime, error) {
	q, err := vq.Defaults("ste")
	if err != nil {
		return nil, err
	}
	q.Codes, q.Levels, q.Parts, q.Start.From = 24, levels, parts, "data"
	for _, f := range change {
		f(&q)
	}
	c := tokenizer.Default()
	c.Dim, c.Image = 4, tokenizer.Image{Size: size, Widths: widths, Blocks: 1, Up: "nearest", Precision: "f32"}
	t, err := tokenizer.New(tokenizer.Spec{Model: c, Quantizer: q}, c.Image.Input())
	if err != nil {
		return nil, err
	}
	variables := t.InitNetwork(1, tokenizer.Sample{})
	networks, err := tokenizer.NewRuntime(engine, t, variables, nil)
	if err != nil {
		return nil, err
	}
	defer networks.Close()
	const n = 24
	set, err := openScenes(ctx, n, size)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	pixels, rows := make([]uint8, n*t.Input), make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	if _, err := set.Centre(rows, pixels); err != nil {
		return nil, err
	}
	z, err := networks.Latents(ctx, dataset.PictureBatch(pixels, n))
	if err != nil {
		return nil, err
	}
	codes, err := t.Quantizer.Init(vq.Latents{Rows: z, N: n * t.Tokens(), Dim: t.Dim()}, weights.Rand(1, "codes"))
	if err != nil {
		return nil, err
	}
	for _, p := range codes.Paths() { // a context away from its start
		if rng := weights.Rand(2, p); strings.Contains(p, "/condition/last/") {
			codes[p] = weights.Normal(rng, 0.2, codes[p].Shape...)
		}
	}
	variables.Merge("quantizer", codes)
	books, err := tokenizer.Usable(engine, t, variables)
	if err != nil {
		return nil, err
	}
	return tokenizer.NewRuntime(engine, t, variables, books)
}

func untrained(tb testing.TB, size int, widths []int, levels, parts int, change ...func(*vq.Config)) *tokenizer.Runtime {
	tb.Helper()
	r, err := startUntrained(tb.Context(), gradtest.Engine(tb), size, widths, levels, parts, change...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	return r
}

// smooth is a picture of slow waves, of any size.
func smooth(width, height int) *images.RGB {
	p := images.NewRGB(width, height)
	for i := range p.Pix {
		x, y := float64(i/3%width), float64(i/3/width)
		p.Pix[i] = uint8(128 + 60*math.Sin(x/19+float64(i%3)) + 50*math.Cos(y/23+x/41))
	}
	return p
}
