package fingerprint

import (
	"strings"
	"testing"
)

func TestHash(t *testing.T) {
	of := func(add func(h *Hash)) string {
		h := New()
		add(h)
		return h.String()
	}
	long := strings.Repeat("x", 10000)
	seen := map[string]bool{}
	for _, add := range []func(h *Hash){
		func(*Hash) {},
		func(h *Hash) { h.Text("ab"); h.Text("c") },
		func(h *Hash) { h.Text("a"); h.Text("bc") },
		func(h *Hash) { h.Text("c"); h.Text("ab") },
		func(h *Hash) { h.Number(1); h.Number(2) },
		func(h *Hash) { h.Number(2); h.Number(1) },
		func(h *Hash) { h.Text(long) },
		func(h *Hash) { h.Text(long); h.Number(0) },
	} {
		f := of(add)
		if len(f) != 32 || seen[f] {
			t.Errorf("fingerprint %q is short or that of other data", f)
		}
		if f != of(add) {
			t.Error("the same data have two fingerprints")
		}
		seen[f] = true
	}
	h := New()
	h.Text("a")
	first := h.String()
	if h.String() != first {
		t.Error("asking changes the fingerprint")
	}
	if h.Text("b"); h.String() == first {
		t.Error("what is added after asking does not count")
	}
}
