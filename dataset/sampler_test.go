package dataset

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestSplitIsDisjointAndExhaustive(t *testing.T) {
	for _, test := range []struct {
		n        int
		fraction float64
		held     int
	}{
		{1000, 0.1, 100}, {1000, 0, 0}, {10, 0.01, 1}, {10, 0.99, 9}, {10, 1, 9}, {10, 7, 9}, {10, -1, 0},
		{10, math.NaN(), 0}, {1, 0.5, 0}, {2, 0.5, 1}, {0, 0.5, 0}, {997, 0.25, 249},
	} {
		train, held := Split(test.n, test.fraction, 3)
		if held.Len() != test.held || train.Len() != test.n-test.held {
			t.Errorf("Split(%d, %v): %d and %d rows", test.n, test.fraction, train.Len(), held.Len())
		}
		seen := make([]int, test.n)
		for _, part := range []Selection{train, held} {
			for i := range part.Len() {
				seen[part.At(i)]++
			}
		}
		for row, times := range seen {
			if times != 1 {
				t.Errorf("Split(%d, %v): row %d is in %d parts", test.n, test.fraction, row, times)
			}
		}
	}
	_, a := Split(1000, 0.1, 3)
	_, b := Split(1000, 0.1, 4)
	same := 0
	for i := range a.Len() {
		for j := range b.Len() {
			if a.At(i) == b.At(j) {
				same++
			}
		}
	}
	if same > 30 { // 10 expected of 100
		t.Errorf("other seeds hold out the same rows: %d of 100", same)
	}
}

func TestSelectionOutsideItsRowsPanics(t *testing.T) {
	train, held := Split(10, 0.5, 1)
	for _, call := range []func(){func() { train.At(5) }, func() { held.At(5) }, func() { held.At(-1) }, func() { All(3).At(3) },
		func() { NewPermutation(3, 1).At(3) }} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		}()
	}
}

func drawn(t *testing.T, s *Sampler, from, to int64) []int {
	t.Helper()
	var rows []int
	batch := make([]int, s.BatchSize())
	for step := from; step < to; step++ {
		s.Batch(step, batch)
		rows = append(rows, batch...)
	}
	return rows
}

func TestSamplerVisitsEveryRowOnceAnEpoch(t *testing.T) {
	for _, batch := range []int{1, 7, 90, 128, 250} { // below, dividing, and above the 90 rows
		train, held := Split(100, 0.1, 8)
		s, err := NewSampler(train, batch, 5)
		if err != nil {
			t.Fatal(err)
		}
		rows := drawn(t, s, 0, 400)
		var previous []int
		for epoch := 0; (epoch+1)*90 <= len(rows); epoch++ {
			pass := rows[epoch*90 : (epoch+1)*90]
			if slices.Equal(pass, previous) {
				t.Fatalf("batch %d: epoch %d repeats the order of the one before", batch, epoch)
			}
			previous = pass
			sorted := slices.Sorted(slices.Values(pass))
			if len(slices.Compact(sorted)) != 90 {
				t.Fatalf("batch %d: epoch %d repeats rows", batch, epoch)
			}
			for i := range held.Len() {
				if slices.Contains(pass, held.At(i)) {
					t.Fatalf("batch %d: held-out row %d was drawn", batch, held.At(i))
				}
			}
		}
		if got, want := s.Epoch(300), int64(300*batch/90); got != want {
			t.Errorf("batch %d: step 300 is in epoch %d, want %d", batch, got, want)
		}
	}
}

func TestSamplerResumes(t *testing.T) {
	first, _ := NewSampler(All(1000), 64, 5)
	again, _ := NewSampler(All(1000), 64, 5)
	other, _ := NewSampler(All(1000), 64, 6)
	rows := drawn(t, first, 0, 50)
	if !slices.Equal(drawn(t, again, 20, 50), rows[20*64:]) {
		t.Error("a resumed run draws other rows")
	}
	if slices.Equal(drawn(t, other, 20, 50), rows[20*64:]) {
		t.Error("another seed draws the same rows")
	}
}

func TestSamplerRefusesNothing(t *testing.T) {
	_, err := NewSampler(Selection{}, 4, 1)
	if err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Errorf("no rows: %v", err)
	}
	_, err = NewSampler(All(3), 0, 1)
	if err == nil || !strings.Contains(err.Error(), "batch of 0") {
		t.Errorf("a batch of 0: %v", err)
	}
}

func TestSelectionFrom(t *testing.T) {
	train, _ := Split(10, 0.3, 1)
	for _, s := range []Selection{All(10), train} {
		rest := s.From(2).From(1)
		if rest.Len() != s.Len()-3 || rest.At(1) != s.At(4) || s.From(99).Len() != 0 || s.From(-1).At(0) != s.At(0) {
			t.Errorf("the rest of %v is %v", s, rest)
		}
	}
}
