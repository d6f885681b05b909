package vectors

// MixtureComponents is the number of Gaussians in synthetic:mixture.
const MixtureComponents = 64

// mixtureNoise is small beside the distance of centres, about sqrt(2*dim).
const mixtureNoise = 0.05

// Mixture is the truth behind "synthetic:mixture": every row is one of the
// centres, all equally likely, plus Gaussian noise of equal strength in every
// component. A quantizer with MixtureComponents codes can do no better than
// the centres themselves, whose mean squared error per component is Noise^2.
type Mixture struct {
	// Centres [MixtureComponents*Dim] are the means, one after the other.
	Centres []float32
	Dim     int
	// Noise is the standard deviation of a component around its centre.
	Noise float64

	seed uint64
}

// NewMixture returns the mixture that "synthetic:mixture?dim=..&seed=.." draws
// from. dim must be at least 1.
func NewMixture(dim int, seed uint64) *Mixture {
	m := &Mixture{Centres: make([]float32, MixtureComponents*dim), Dim: dim, Noise: mixtureNoise, seed: seed}
	stream := tableStream(seed)
	for i := range m.Centres {
		m.Centres[i] = float32(stream.normal())
	}
	return m
}

// Component returns which centre row i was drawn around.
func (m *Mixture) Component(i int) int {
	return rowStream(m.seed, i).random.IntN(MixtureComponents)
}

func (m *Mixture) row(i int, dst []float32) {
	stream := rowStream(m.seed, i)
	k := stream.random.IntN(MixtureComponents)
	for j, centre := range m.Centres[k*m.Dim : (k+1)*m.Dim] {
		dst[j] = float32(float64(centre) + float64(m.Noise*stream.normal()))
	}
}
