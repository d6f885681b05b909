//go:build unix

package processor

import "testing"

func TestTimeGrowsWithWork(t *testing.T) {
	start, sum := Time(), 0.0
	for i := 0; Time()-start < 0.02; i++ {
		if sum += float64(i); i > 1e8 {
			t.Fatalf("%g s after much work", Time()-start)
		}
	}
}
