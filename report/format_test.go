package report

import (
	"fmt"
	"math"
	"testing"
	"time"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0.01234, 3, "0.0123"}, {0.5, 3, "0.5"}, {0, 3, "0"}, {math.Copysign(0, -1), 3, "0"},
		{12345678, 3, "12345678"}, {1234.6, 3, "1235"}, {9.996, 3, "10"}, {0.09996, 3, "0.1"},
		{-0.01234, 2, "-0.012"}, {1.23456e-7, 3, "1.23e-7"}, {1e-5, 3, "1e-5"}, {4.2e18, 3, "4.2e18"},
		{math.NaN(), 3, "n/a"}, {math.Inf(1), 3, "∞"}, {math.Inf(-1), 3, "-∞"},
		{math.MaxFloat64, 3, "1.8e308"}, {5e-324, 2, "4.9e-324"}, {3.7, 0, "4"},
	} {
		if got := Number(c.v, c.digits); got != c.want {
			t.Errorf("Number(%v, %d) = %q, want %q", c.v, c.digits, got, c.want)
		}
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{
		12345678: "12.3M", 999: "999", 1000: "1k", 65536: "65.5k", 999949: "1M", 999499: "999k", -2.5e9: "-2.5G",
		1e12: "1T", 9.99e14: "999T", 1e15: "1e15", 0.01234: "0.0123", 999.6: "1k", 0: "0", math.Inf(1): "∞",
	} {
		if got := Short(v, 3); got != want {
			t.Errorf("Short(%v, 3) = %q, want %q", v, got, want)
		}
	}
	if got := Short(math.NaN(), 3); got != "n/a" {
		t.Errorf("Short(NaN) = %q", got)
	}
}

func TestPercentNeverRoundsToAllOrNothing(t *testing.T) {
	for _, c := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{0.1234, 1, "12.3%"}, {1, 1, "100.0%"}, {0, 1, "0.0%"}, {0.9999, 1, ">99.9%"}, {0.0001, 1, "<0.1%"},
		{0.995, 0, ">99%"}, {1.5, 0, "150%"}, {-0.25, 0, "-25%"}, {math.NaN(), 1, "n/a"}, {-1e-9, 0, "0%"},
	} {
		if got := Percent(c.v, c.decimals); got != c.want {
			t.Errorf("Percent(%v, %d) = %q, want %q", c.v, c.decimals, got, c.want)
		}
	}
}

func TestPlusMinus(t *testing.T) {
	for _, c := range []struct {
		mean, spread float64
		want         string
	}{
		{0.123456, 0.00417, "0.1235 ± 0.0042"}, {28.4312, 0.121, "28.43 ± 0.12"}, {1234.5, 210, "1234 ± 210"},
		{0.5, 0, "0.5 ± 0"}, {0.5, math.NaN(), "0.5"}, {math.NaN(), 1, "n/a"}, {1.5e-9, 2e-11, "1.5e-9 ± 2e-11"},
		{0.0996, 0.00996, "0.100 ± 0.010"}, {-3, -0.5, "-3.00 ± 0.50"},
	} {
		if got := PlusMinus(c.mean, c.spread); got != c.want {
			t.Errorf("PlusMinus(%v, %v) = %q, want %q", c.mean, c.spread, got, c.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 12: "12ns", 85 * time.Microsecond: "85µs", 450 * time.Millisecond: "450ms",
		12340 * time.Millisecond: "12.3s", 59970 * time.Millisecond: "1m 00s", 185 * time.Second: "3m 05s",
		59*time.Minute + 59700*time.Millisecond: "1h 00m", 62 * time.Minute: "1h 02m",
		23*time.Hour + 59*time.Minute + 40*time.Second: "1d 00h", 51 * time.Hour: "2d 03h",
		999600 * time.Microsecond: "1s", -2 * time.Second: "-2s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 65536: "65,536", 1234567: "1,234,567", -1234: "-1,234",
		-123: "-123"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func ExampleNumber() {
	fmt.Println(Number(0.0123456, 3), Short(12345678, 3), Percent(0.98249, 1), PlusMinus(28.4312, 0.121), Count(65536))
	// Output: 0.0123 12.3M 98.2% 28.43 ± 0.12 65,536
}
