package vq

// PQ is product quantization (Jégou, Douze and Schmid 2011): the vector is
// cut into parts, and each part is coded by cluster centres of its own. A vector
// becomes as many codes as there are parts.
var PQ = Method{
	Name: "pq", Title: "PQ",
	Summary:   "product quantization: cluster centres of slices of the vector",
	Defaults:  productDefaults,
	Check:     checkClassical,
	Classical: fitStack(1),
	Product:   true,
}

// productDefaults spends the default bits side by side.
func productDefaults(c *Config, r *Rates) {
	classicalDefaults(c, r)
	c.Parts, c.Levels = c.Levels, 1
}
