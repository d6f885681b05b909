package codes

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// smooth is a grid whose codes lie near their neighbours.
func smooth(random *rand.Rand, vocab, height, width int) CodeMap {
	g := CodeMap{Height: height, Width: width, Codes: make([]uint32, height*width)}
	spread := max(2, vocab/32)
	for i := range g.Codes {
		value := random.IntN(vocab)
		if i%width > 0 && i >= width {
			value = (int(g.Codes[i-1])+int(g.Codes[i-width]))/2 + random.IntN(spread) - spread/2
		}
		g.Codes[i] = uint32(min(max(value, 0), vocab-1))
	}
	return g
}

func BenchmarkPlane(b *testing.B) {
	for _, vocab := range []int{1024, 16384, 65536} {
		random := rand.New(rand.NewPCG(1, 1))
		var train []CodeMap
		for range 32 {
			train = append(train, smooth(random, vocab, 64, 64))
		}
		m, err := Train(b.Context(), train, []uint32{uint32(vocab)}, [][]float32{line(vocab)})
		if err != nil {
			b.Fatal(err)
		}
		g := smooth(random, vocab, 256, 256)
		out := CodeMap{Height: g.Height, Width: g.Width, Codes: make([]uint32, len(g.Codes))}
		for method := range methods {
			e := newRangeEncoder()
			e.symbol(uint32(method), 1, uint32(methods))
			encodePlaneAs(method, e, g.planes(1)[0], uint32(vocab), m)
			payload := e.finish()
			rate := func(b *testing.B) {
				b.ReportMetric(float64(b.N*len(g.Codes))/b.Elapsed().Seconds()/1e6, "Mcodes/s")
			}
			b.Run(fmt.Sprintf("encode/%s/%d", method, vocab), func(b *testing.B) {
				for b.Loop() {
					encodePlaneAs(method, newRangeEncoder(), g.planes(1)[0], uint32(vocab), m)
				}
				rate(b)
			})
			b.Run(fmt.Sprintf("decode/%s/%d", method, vocab), func(b *testing.B) {
				for b.Loop() {
					if _, ok := decodePlane(newRangeDecoder(payload), out.planes(1)[0], uint32(vocab), m); !ok {
						b.Fatal("the payload is damaged")
					}
				}
				rate(b)
			})
		}
	}
}

func BenchmarkTrain(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var train []CodeMap
	for range 100 {
		train = append(train, smooth(random, 1024, 32, 32))
	}
	for b.Loop() {
		if _, err := Train(b.Context(), train, []uint32{1024}, [][]float32{line(1024)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*100*32*32)/b.Elapsed().Seconds()/1e6, "Mcodes/s")
}
