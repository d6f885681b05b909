package inspect

import "testing"

func TestSparkline(t *testing.T) {
	if got := sparkline([]int64{0, 100, 100, 0, 1, 0}, 6); got != "██▂···" {
		t.Errorf("got %s", got)
	}
	if got := sparkline([]int64{5, 5, 5, 5}, 2); got != "██" {
		t.Errorf("got %s", got)
	}
	if got := sparkline(make([]int64, 4), 4); got != "····" {
		t.Errorf("got %s", got)
	}
}
