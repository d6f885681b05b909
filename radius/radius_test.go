package radius

import "testing"

func TestValidateNamesTheField(t *testing.T) {
	for field, edit := range map[string]func(*Config){
		"radius.kind":       func(c *Config) { c.Kind = "round" },
		"radius.mode":       func(c *Config) { c.Mode = "soft" },
		"radius.scalar":     func(c *Config) { c.Scalar.Value = 0 },
		"radius.scalar.use": func(c *Config) { c.Scalar.Use = Learned }, // euclidean has none
		"radius.max_k":      func(c *Config) { c.MaxK = 0 },
		"radius.metric":     func(c *Config) { c.Kind, c.Metric = Mahalanobis, "round" },
		"radius.rank":       func(c *Config) { c.Kind, c.Metric, c.Rank = Mahalanobis, "low-rank", 0 },
		"radius.decay":      func(c *Config) { c.Kind, c.Decay = Adaptive, 0 },
	} {
		c := Default()
		edit(&c)
		if err := c.Validate(); err == nil || err.Error()[:len(field)] != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	for _, c := range cases() {
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", c.label(), err)
		}
	}
}
