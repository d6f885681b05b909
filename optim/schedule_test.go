package optim

import (
	"fmt"
	"math"
	"testing"
)

func ExampleSchedule() {
	s := Schedule{Kind: "cosine", Warmup: 10}
	for _, step := range []int{0, 4, 9, 10, 55, 100} {
		fmt.Printf("%d: %.2f\n", step, s.At(step, 100))
	}
	// Output:
	// 0: 0.10
	// 4: 0.50
	// 9: 1.00
	// 10: 1.00
	// 55: 0.50
	// 100: 0.00
}

// After its warm-up the inverse square root falls from one, as TIGER's does.
func TestInverseSquareRoot(t *testing.T) {
	s := Schedule{Kind: "inverse-sqrt", Warmup: 100}
	for step, want := range map[int]float64{49: 0.5, 99: 1, 399: 0.5, 9999: 0.1} {
		if got := s.At(step, 20000); math.Abs(got-want) > 1e-12 {
			t.Errorf("step %d: %g, want %g", step, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	good := Optimizer{Name: "adam", Rate: 1e-3, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Optimizer){
		"name": func(o *Optimizer) { o.Name = "lion" }, "rate": func(o *Optimizer) { o.Rate = math.NaN() },
		"beta": func(o *Optimizer) { o.Beta2 = 1 }, "epsilon": func(o *Optimizer) { o.Epsilon = 0 },
	} {
		bad := good
		spoil(&bad)
		if bad.Validate() == nil {
			t.Errorf("%s: %+v passes", name, bad)
		}
	}
	for _, bad := range []Schedule{
		{Kind: "step"}, {Kind: "cosine", Warmup: -1}, {Kind: "cosine", Floor: -0.1}, {Kind: "cosine", Floor: 1.1},
		{Kind: "cosine", Floor: math.NaN()},
	} {
		if bad.Validate() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
	if err := (Schedule{Kind: "cosine", Floor: 1}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestSchedules(t *testing.T) {
	near := func(kind string, warmup int, floor float64, step, steps int, want float64) {
		t.Helper()
		if got := (Schedule{Kind: kind, Warmup: warmup, Floor: floor}).At(step, steps); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s, warm-up %d: step %d of %d has share %v, want %v", kind, warmup, step, steps, got, want)
		}
	}
	for _, kind := range []string{"constant", "cosine", "inverse-sqrt"} {
		near(kind, 10, 0, 0, 100, 0.1)
		near(kind, 10, 0, 9, 100, 1)
	}
	near("constant", 0, 0, 99, 100, 1)
	near("cosine", 0, 0, 0, 100, 1)
	near("cosine", 0, 0, 50, 100, 0.5)
	near("cosine", 0, 0, 100, 100, 0)
	near("cosine", 20, 0, 60, 100, 0.5)
	near("cosine", 0, 0.2, 50, 100, 0.6)
	near("cosine", 0, 0.2, 500, 100, 0.2)
	near("inverse-sqrt", 0, 0, 24, 100, 0.2)
	near("inverse-sqrt", 16, 0, 63, 100, 0.5)
}
