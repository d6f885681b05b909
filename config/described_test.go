package config

import (
	"strings"
	"testing"
)

// described takes a text and the values of a key from its methods.
type described struct {
	Method string `yaml:"method" doc:"overruled by the method"`
	Rank   int    `yaml:"rank" doc:"rank of the transform"`
}

func (described) Docs() map[string]string    { return map[string]string{"method": "a long text"} }
func (described) Enums() map[string][]string { return map[string][]string{"method": {"grit", "ema"}} }

func TestStructsDescribeTheirKeys(t *testing.T) {
	got, err := Render(described{Method: "ema", Rank: 2})
	want := "# a long text\n# one of: grit, ema\nmethod: ema\n# rank of the transform\nrank: 2\n"
	if err != nil || string(got) != want {
		t.Errorf("rendered %q (%v), want %q", got, err, want)
	}
	var c described
	if err := Set(&c, "method=grit"); err != nil || c.Method != "grit" {
		t.Errorf("set %q: %v", c.Method, err)
	}
	if err := Decode([]byte("method: gritt\n"), &c); err == nil || !strings.Contains(err.Error(),
		`not one of grit, ema: did you mean "grit"?`) {
		t.Errorf("a value outside the list gave %v", err)
	}
}
