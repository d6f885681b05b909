package vq

// builtin lists the methods of this package, in the order configuration files
// show them.
var builtin = []Method{
	GRIT, STE, EMA, STGumbel, NSVQ, DiVeQ, SpaceFillingDiVeQ, SimVQ, FSQ, LFQ, HyperVQ, Rotation, IBQ, RQVAE, KMeansSTE,
	KMeans, PQ, OPQ, RQ, LSH,
}

func init() {
	for _, m := range builtin {
		Register(m)
	}
}
