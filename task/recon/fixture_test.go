package recon

import (
	"math"
	"strconv"
	"testing"

	"github.com/gritvq/gritvq/images"
	"github.com/gritvq/gritvq/internal/gradtest"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// scenes opens n built-in pictures of the given size.
func scenes(tb testing.TB, n, size int) *images.Set {
	tb.Helper()
	set, err := images.Open(tb.Context(), "synthetic:scenes?images="+strconv.Itoa(n)+"&size="+strconv.Itoa(size), images.Options{Size: size})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { set.Close() })
	return set
}

// untrained returns a tokenizer of pictures whose network is random and whose
// codes are latents of built-in pictures.
func untrained(tb testing.TB, size int, widths []int, levels, parts int) *tokenizer.Runtime {
	tb.Helper()
	q, err := vq.Defaults("ste")
	if err != nil {
		tb.Fatal(err)
	}
	q.Codes, q.Levels, q.Parts, q.Start.From = 24, levels, parts, "data"
	c := tokenizer.Default()
	c.Dim, c.Image = 4, tokenizer.Image{Size: size, Widths: widths, Blocks: 1, Up: "nearest", Precision: "f32"}
	t, err := tokenizer.New(c, q, c.Image.Input())
	if err != nil {
		tb.Fatal(err)
	}
	variables := t.InitNetwork(1, nil, nil)
	networks, err := tokenizer.NewEncoder(gradtest.Engine(tb), t, variables)
	if err != nil {
		tb.Fatal(err)
	}
	defer networks.Close()
	const n = 24
	pixels, rows := make([]uint8, n*t.Input), make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	if _, err := scenes(tb, n, size).Centre(rows, pixels); err != nil {
		tb.Fatal(err)
	}
	z, err := networks.PictureLatents(tb.Context(), pixels, n)
	if err != nil {
		tb.Fatal(err)
	}
	codes, err := t.Quantizer.Init(vq.Sample{Rows: z, N: n * t.Tokens(), Dim: t.Dim()}, weights.Rand(1, "codes"))
	if err != nil {
		tb.Fatal(err)
	}
	return runtime(tb, t, variables.Merge("quantizer", codes))
}

// runtime prepares a tokenizer with the given variables.
func runtime(tb testing.TB, t *tokenizer.Tokenizer, variables weights.Set) *tokenizer.Runtime {
	tb.Helper()
	books, err := tokenizer.Usable(gradtest.Engine(tb), t, variables)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := tokenizer.NewRuntime(gradtest.Engine(tb), t, variables, books)
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
