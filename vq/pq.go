package vq

// PQ composes product quantization (Jégou, Douze and Schmid 2011): the vector is
// cut into parts, and each part is coded by cluster centres of its own. A vector
// becomes as many codes as there are parts.
func PQ() Config {
	c, _ := Defaults("pq")
	return c
}

var pqMethod = method{
	summary:   "product quantization: cluster centres of slices of the vector",
	defaults:  productDefaults,
	check:     checkClassical,
	classical: fitStack(1),
	product:   true,
}

// productDefaults spends the default bits side by side.
func productDefaults(c *Config) {
	classicalDefaults(c)
	c.Parts, c.Levels = c.Levels, 1
}
