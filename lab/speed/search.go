package speed

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/report"
)

func gaussians(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

func (b *bench) nearest(context.Context) ([]Row, error) {
	const n, d = 16384, 64
	codes, err := index.NewCodes(gaussians(1, n*d), n, d)
	if err != nil {
		return nil, err
	}
	x, out := gaussians(2, n*d), make([]uint32, n)
	ours := func() (float64, error) {
		return fastest(2, func() error {
			codes.Nearest(x, n, out, nil, 0)
			return nil
		})
	}
	return b.times(b.faiss,
		race{"nearest code 16384 x 16384, d 64, against FAISS IndexFlatL2", "faiss_flat_l2_16384x16384x64_seconds", 1 / 1.5, ours},
		race{"the same against PyTorch matmul + argmin", "torch_matmul_argmin_16384x16384x64_seconds", 1 / 3.0, ours})
}

func (b *bench) encode(ctx context.Context) ([]Row, error) {
	const n, d, k, levels = 20000, 128, 256, 4
	x := gaussians(3, n*d)
	var books []*index.Codes
	rest := slices.Clone(x)
	for l := range levels { // codebooks trained on residuals, as FAISS trains its own
		centers, _, err := index.KMeans(ctx, rest, n, d, k, index.KMeansOptions{Seed: uint64(l), Iterations: 5})
		if err != nil {
			return nil, err
		}
		book, err := index.NewCodes(centers, k, d)
		if err != nil {
			return nil, err
		}
		books = append(books, book)
		chosen := make([]uint32, n)
		book.Nearest(rest, n, chosen, nil, 0)
		for i, c := range chosen {
			for j, v := range book.Row(int(c)) {
				rest[i*d+j] -= v
			}
		}
	}
	stack, err := index.NewResidual(books...)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, n*levels)
	rate := func(beam, runs int) float64 {
		seconds, _ := fastest(runs, func() error {
			stack.Encode(x, n, levels, beam, out, 0)
			return nil
		})
		return n / seconds
	}
	greedy, beam := rate(1, 2*b.Rounds), rate(5, b.Rounds)
	peer, err := b.faiss()
	if err != nil {
		return []Row{{Name: "residual encode 4 x 256, 128-d", Reason: err.Error()}}, nil
	}
	faiss := peer["faiss_residual_4x8_128d_encode_20000"].(map[string]any)["default"].(map[string]any)["vectors_per_second"].(float64)
	return []Row{
		atLeast("greedy residual encode 4 x 256, 128-d, against FAISS at its default beam", greedy, faiss, 7),
		atLeast("the same with FAISS's beam of 5", beam, faiss, 2),
	}, nil
}

func atLeast(name string, ours, peer, limit float64) Row {
	return Row{Name: name, Ours: report.Short(ours, 3) + "/s", Peer: report.Short(peer, 3) + "/s", Ratio: ours / peer,
		Claim: fmt.Sprintf(">= %.3gx the rate", limit), Holds: ours/peer >= limit}
}
