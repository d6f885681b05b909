package report

import (
	"strings"
	"testing"
)

// same is n times v.
func same(v float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = v
	}
	return values
}

// Axes of values that are all the same, or zero, or none.
func TestAxesOfDegenerateValues(t *testing.T) {
	for _, c := range []struct {
		name   string
		log    bool
		share  bool
		values []float64
		want   string
	}{
		{"no dead code", false, true, same(0, 5), "0 1"},
		{"every code in use", false, true, same(100, 5), "60 80 100"},
		{"hardly any dead code", false, true, []float64{0, 0.01, 0}, "0 0.2 0.4 0.6 0.8 1.0"},
		{"nearly every code in use", false, true, []float64{99.9, 100, 99.95}, "99.0 99.2 99.4 99.6 99.8 100.0"},
		{"a constant share", false, true, same(40, 5), "20 30 40 50 60"},
		{"shares of everything", false, true, []float64{0, 100}, "0 20 40 60 80 100"},
		{"one rank", true, false, same(1, 1), "1 2"},
		{"one number of codes", true, false, same(4096, 1), "2,048 4,096 8,192"},
		{"numbers of codes", true, false, []float64{1024, 4096, 16384, 65536}, "1,024 8,192 65,536"},
		{"shares of equal codes", true, false, same(1.0/64, 3), "0.01 0.02 0.03"},
		{"none", true, false, nil, ""},
		{"nothing but zeros on a logarithmic axis", true, false, same(0, 9), ""},
	} {
		d := newDomain(c.log)
		for _, v := range c.values {
			d.include(v)
		}
		if c.share {
			d.settleShare()
		} else {
			d.settle()
		}
		if got := labels(d.ticks(3)); got != c.want || d.lo >= d.hi {
			t.Errorf("%s: ticks %q of %g to %g, want %q", c.name, got, d.lo, d.hi, c.want)
		}
	}
}

// A chart without values says so and pretends no scale.
func TestChartsWithoutValuesHaveNoTicks(t *testing.T) {
	var b strings.Builder
	chart := LineChart{Title: "ranks", LogX: true, LogY: true, Series: []Series{RankSeries("none", same(0, 64))}}
	if err := WriteSVG(&b, chart); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "no values to show") || strings.Contains(b.String(), `class="tick"`) {
		t.Errorf("drew %s", b.String())
	}
}
