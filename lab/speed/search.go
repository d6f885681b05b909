package speed

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/lab/table"
)

func gaussians(seed uint64, n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

// fastest is the least time of a few runs, in seconds.
func fastest(runs int, f func()) float64 {
	best := 0.0
	for range runs {
		start := time.Now()
		f()
		if s := time.Since(start).Seconds(); best == 0 || s < best {
			best = s
		}
	}
	return best
}

const faissScript = "faiss_index.py"

// nearest compares exact nearest codes with FAISS and PyTorch.
func (b *bench) nearest(ctx context.Context) ([]Row, error) {
	const n, d = 16384, 64
	codes, err := index.NewCodes(gaussians(1, n*d), n, d)
	if err != nil {
		return nil, err
	}
	x, out := gaussians(2, n*d), make([]uint32, n)
	search := func() { codes.Nearest(x, n, out, nil, 0) }
	ours := fastest(2*b.Rounds, search)
	peer, err := b.peer(ctx, faissScript)
	if err != nil {
		return []Row{{Name: "nearest code 16384 x 16384, d 64", Ours: table.Seconds(ours), Reason: err.Error()}}, nil
	}
	ours = min(ours, fastest(2*b.Rounds, search))
	return []Row{
		atMost("nearest code 16384 x 16384, d 64, against FAISS IndexFlatL2", ours, peer["faiss_flat_l2_16384x16384x64_seconds"].(float64), 1/1.5),
		atMost("the same against PyTorch matmul + argmin", ours, peer["torch_matmul_argmin_16384x16384x64_seconds"].(float64), 1/3.0),
	}, nil
}

// encode compares residual encoding with FAISS.
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
	greedy := n / fastest(2*b.Rounds, func() { stack.Encode(x, n, levels, 1, out, 0) })
	beam := n / fastest(b.Rounds, func() { stack.Encode(x, n, levels, 5, out, 0) })
	peer, err := b.peer(ctx, faissScript)
	if err != nil {
		return []Row{{Name: "residual encode 4 x 256, 128-d", Reason: err.Error()}}, nil
	}
	faiss := peer["faiss_residual_4x8_128d_encode_20000"].(map[string]any)["default"].(map[string]any)["vectors_per_second"].(float64)
	return []Row{
		atLeast("greedy residual encode 4 x 256, 128-d, against FAISS at its default beam", greedy, faiss, 7),
		atLeast("the same with FAISS's beam of 5", beam, faiss, 2),
	}, nil
}
