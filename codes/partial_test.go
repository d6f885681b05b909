package codes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPartialResumesAfterAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	open := func(identity string) *Partial {
		p, err := OpenPartial(path, identity, 2)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	p := open("run a")
	if p.Len() != 0 || p.Next() != 0 {
		t.Errorf("a new file has %d rows, next %d", p.Len(), p.Next())
	}
	if err := p.Append([]int{0, 2}, []uint32{1, 2, 3, 4}); err != nil {
		t.Fatal(err)
	}
	p.Close()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0) // a record cut off by a kill
	if err != nil {
		t.Fatal(err)
	}
	file.Write([]byte{3, 0, 0, 0, 9})
	file.Close()
	p = open("run a")
	if p.Len() != 2 || p.Next() != 3 {
		t.Errorf("resumed with %d rows, next %d", p.Len(), p.Next())
	}
	if err := p.Append([]int{3}, []uint32{5, 6}); err != nil {
		t.Fatal(err)
	}
	var rows []int
	var all []uint32
	err = p.Each(func(row int, codes []uint32) error {
		rows, all = append(rows, row), append(all, codes...)
		return nil
	})
	if err != nil || !slices.Equal(rows, []int{0, 2, 3}) || !slices.Equal(all, []uint32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("rows %v, codes %v, %v", rows, all, err)
	}
	if _, err := OpenPartial(path, "run b", 2); err == nil || !strings.Contains(err.Error(), "another process writes the same output") {
		t.Errorf("two at once: %v", err)
	}
	p.Close()
	if p = open("run b"); p.Len() != 0 || p.Next() != 0 {
		t.Errorf("another run resumed %d rows", p.Len())
	}
	if err := p.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
}

// A flipped bit costs the record and those after it, and a flip in the first line the run.
func TestDamagedPartialsAreEncodedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	const identity = "run"
	write := func() []byte {
		p, err := OpenPartial(path, identity, 2)
		if err == nil {
			err = p.Append([]int{0, 2, 3}, []uint32{1, 2, 3, 4, 5, 6})
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	content := write()
	for i := range content {
		content[i] ^= 1 << (i % 8)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		content[i] ^= 1 << (i % 8)
		p, err := OpenPartial(path, identity, 2)
		if err != nil {
			t.Fatal(err)
		}
		want := max(0, i-len(identity)-1) / 16
		if i <= len(identity) {
			want = 0
		}
		if next := []int{0, 1, 3}[want]; p.Len() != want || p.Next() != next {
			t.Errorf("byte %d of %d: %d rows, next %d; want %d, %d", i, len(content), p.Len(), p.Next(), want, next)
		}
		p.Close()
	}
}
