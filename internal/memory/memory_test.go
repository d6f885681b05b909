package memory_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gritvq/gritvq/internal/memory"
)

func TestCheckMultipliesWithoutOverflow(t *testing.T) {
	for _, c := range []struct {
		factors []int
		fits    bool
	}{
		{nil, true},
		{[]int{4, 1 << 20}, true},
		{[]int{1 << 40, 1 << 40}, false},
		{[]int{1 << 32, 1 << 32}, false}, // 2^64, which wraps to 0
		{[]int{1 << 62, 2}, false},
		{[]int{math.MaxInt, math.MaxInt, 0}, true},
		{[]int{-1, 8}, false},
		{[]int{-1, -1}, false},
	} {
		if err := memory.Check("a table", c.factors...); (err == nil) != c.fits {
			t.Errorf("%v: %v", c.factors, err)
		}
	}
}

func TestErrorsSayWhatHowMuchAndWhatToDo(t *testing.T) {
	err := &memory.Exceeded{What: "a picture of 9 x 9 pixels", Bytes: 3 << 40, Available: 5 << 29}
	want := "a picture of 9 x 9 pixels would take 3.0 TiB of memory and 2.5 GiB are available; " +
		"use smaller sizes, or a machine or limit with more"
	if err.Error() != want {
		t.Errorf("got %q", err)
	}
}

func TestCatch(t *testing.T) {
	run := func(f func()) (err error) {
		defer memory.Catch(&err)
		f()
		return nil
	}
	if err := run(func() { memory.Need("a table", 1<<40, 1<<40) }); err == nil {
		t.Error("a need was not caught")
	}
	if err := run(func() { panic(fmt.Errorf("building: %w", &memory.Exceeded{What: "x"})) }); err == nil {
		t.Error("a wrapped need was not caught")
	}
	if err := run(func() { memory.Need("a table", 8) }); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("another panic was swallowed")
		}
	}()
	_ = run(func() { panic(errors.New("something else")) })
}

func TestText(t *testing.T) {
	for bytes, want := range map[float64]string{
		0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 51 << 30: "51.0 GiB", math.Pow(2, 80): "1048576.0 EiB",
	} {
		if got := memory.Text(bytes); got != want {
			t.Errorf("%g is %q, want %q", bytes, got, want)
		}
	}
}
