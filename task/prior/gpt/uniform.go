package gpt

// Uniform is the random number in [0, 1) that draws the code at a place of the picture
// with this number: a function of its arguments, whatever is drawn beside it.
func Uniform(seed uint64, number, place int) float32 {
	x := mix(mix(mix(seed)+uint64(number)) + uint64(place))
	return float32(x>>40) / (1 << 24) // all that a float32 below 1 holds
}

// mix is a step of splitmix64 (Steele et al., 2014): a bijection whose output bits each
// depend on all input bits.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
