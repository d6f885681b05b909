package table

import "testing"

func TestFlags(t *testing.T) {
	const flags = "--size 128 --codes 4096 --steps=9 --codes=64 --codes-held 3"
	for name, want := range map[string]int{"--size": 128, "--codes": 64, "--steps": 9, "--levels": 7, "--held": 7} {
		if got := Flag(flags, name, 7); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
	if got, want := WithoutFlags(flags, "--codes", "--size"), "--steps=9 --codes-held 3"; got != want {
		t.Errorf("left are %q, want %q", got, want)
	}
	if got := WithoutFlags("--codes", "--codes"); got != "" {
		t.Errorf("left is %q", got)
	}
}
