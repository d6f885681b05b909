package report

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// labelValue reads a tick label back.
func labelValue(t *testing.T, label string) float64 {
	t.Helper()
	for _, p := range prefixes {
		if number, ok := strings.CutSuffix(label, p.name); ok {
			return labelValue(t, number) * p.value
		}
	}
	v, err := strconv.ParseFloat(label, 64)
	if err != nil {
		t.Fatalf("label %q: %v", label, err)
	}
	return v
}

func TestLinearTicksOnManyRanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		d := newDomain(false)
		scale := math.Pow(10, 600*random.Float64()-300)
		center := (2*random.Float64() - 1) * scale
		width := scale * math.Pow(10, -10*random.Float64())
		d.include(center)
		d.include(center + width)
		d.settle()
		target := 2 + random.IntN(10)
		ticks := d.ticks(target)
		if len(ticks) < 1 || len(ticks) > 2*target+2 {
			t.Fatalf("[%g, %g]: %d ticks for a target of %d", d.lo, d.hi, len(ticks), target)
		}
		mantissa, power := tickStep(d.hi-d.lo, target, false)
		if mantissa != 1 && mantissa != 2 && mantissa != 5 {
			t.Fatalf("step %g e%d is not 1, 2 or 5", mantissa, power)
		}
		step := multiple(1, mantissa, power)
		seen := map[string]bool{}
		for i, tick := range ticks {
			if tick.value < d.lo-1e-5*step || tick.value > d.hi+1e-5*step {
				t.Fatalf("[%g, %g]: tick %g outside", d.lo, d.hi, tick.value)
			}
			if i > 0 && math.Abs(tick.value-ticks[i-1].value-step) > 1e-3*step {
				t.Fatalf("[%g, %g]: uneven ticks %v", d.lo, d.hi, ticks)
			}
			if seen[tick.label] {
				t.Fatalf("[%g, %g]: label %q twice", d.lo, d.hi, tick.label)
			}
			seen[tick.label] = true
			if got := labelValue(t, tick.label); math.Abs(got-tick.value) > 1e-3*step {
				t.Fatalf("[%g, %g]: label %q for %g", d.lo, d.hi, tick.label, tick.value)
			}
		}
	}
}

func labels(ticks []tick) string {
	var list []string
	for _, t := range ticks {
		list = append(list, t.label)
	}
	return strings.Join(list, " ")
}

func TestTickLabels(t *testing.T) {
	for _, c := range []struct {
		d      domain
		target int
		want   string
	}{
		{domain{lo: 0, hi: 1}, 5, "0 0.2 0.4 0.6 0.8 1.0"},
		{domain{lo: 0, hi: 0.3}, 3, "0 0.1 0.2 0.3"},
		{domain{lo: -3, hi: 4}, 4, "-2 0 2 4"},
		{domain{lo: 0, hi: 20000}, 5, "0 5k 10k 15k 20k"},
		{domain{lo: 0, hi: 2.5e6}, 5, "0 0.5M 1.0M 1.5M 2.0M 2.5M"},
		{domain{lo: 0, hi: 5e-5}, 5, "0 1e-5 2e-5 3e-5 4e-5 5e-5"},
		{domain{lo: 0, hi: 3, whole: true}, 8, "0 1 2 3"},
		{domain{lo: 1, hi: 1e6, log: true}, 6, "1 10 100 1k 10k 100k 1M"},
		{domain{lo: 1e-8, hi: 1e8, log: true}, 4, "1e-8 0.0001 1 10k 100M"},
		{domain{lo: 0.9, hi: 60, log: true}, 6, "1 2 5 10 20 50"},
		{domain{lo: 20, hi: 30, log: true}, 5, "20 22 24 26 28 30"},
	} {
		if got := labels(c.d.ticks(c.target)); got != c.want {
			t.Errorf("[%g, %g] log=%v: %s, want %s", c.d.lo, c.d.hi, c.d.log, got, c.want)
		}
	}
}

func TestLogTicksOnManyRanges(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 5000 {
		d := newDomain(true)
		lo := math.Pow(10, 200*random.Float64()-100)
		d.include(lo)
		d.include(lo * math.Pow(10, 20*random.Float64()*random.Float64()))
		d.settle()
		target := 2 + random.IntN(8)
		ticks := d.ticks(target)
		if len(ticks) < 1 || len(ticks) > 2*target+8 {
			t.Fatalf("[%g, %g]: %d ticks for a target of %d: %s", d.lo, d.hi, len(ticks), target, labels(ticks))
		}
		for i, tick := range ticks {
			if at := d.at(tick.value); at < -1e-6 || at > 1+1e-6 {
				t.Fatalf("[%g, %g]: tick %g outside", d.lo, d.hi, tick.value)
			}
			if i > 0 && (tick.value <= ticks[i-1].value || tick.label == ticks[i-1].label) {
				t.Fatalf("[%g, %g]: ticks %v", d.lo, d.hi, ticks)
			}
		}
	}
}

func TestRoundedDomainHoldsTheDataAndEndsOnTicks(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 5000 {
		d := newDomain(false)
		a, b := random.NormFloat64()*1e3, random.NormFloat64()
		d.include(a)
		d.include(a + b)
		d.settle()
		before := d
		d.round(5)
		slack := 1e-5 * (d.hi - d.lo)
		if d.lo > before.lo+slack || d.hi < before.hi-slack || d.hi-d.lo > 3*(before.hi-before.lo) {
			t.Fatalf("[%g, %g] became [%g, %g]", before.lo, before.hi, d.lo, d.hi)
		}
		mantissa, power := tickStep(before.hi-before.lo, 5, false)
		if n := d.lo / multiple(1, mantissa, power); math.Abs(n-math.Round(n)) > 1e-6 {
			t.Fatalf("lower end %g is not on a step of %g", d.lo, multiple(1, mantissa, power))
		}
	}
}

func TestTicksThatFitDoNotOverlap(t *testing.T) {
	a := axis{domain{lo: 1000000, hi: 1000001}, 0, 200}
	measure := func(label string) float64 { return textLength(label, tickFont) }
	ticks := a.ticksThatFit(10, 10, measure)
	for i := 1; i < len(ticks); i++ {
		room := a.pos(ticks[i].value) - a.pos(ticks[i-1].value)
		if room < (measure(ticks[i].label)+measure(ticks[i-1].label))/2 {
			t.Fatalf("labels run into each other: %s", labels(ticks))
		}
	}
	if len(ticks) < 2 {
		t.Errorf("only %d ticks", len(ticks))
	}
}

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
