package images

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
)

// readAll reads every picture of an opened archive: nothing may panic, and keys
// must be usable as relative paths.
func readAll(t *testing.T, a *archive, err error) {
	if err != nil {
		return
	}
	if a.count() == 0 {
		t.Fatal("accepted without pictures")
	}
	keys := map[string]bool{}
	for i := range a.count() {
		if key := a.key(i); key == "" || key[0] == '/' || keys[key] {
			t.Fatalf("key %q is impossible or there already", key)
		}
		keys[a.key(i)] = true
		if a.members[i].size > 1<<20 || claimsManyPixels(a, i) {
			continue // right, but slow
		}
		if p, err := a.picture(i); err == nil && len(p.Pix) != p.Width*p.Height*3 {
			t.Fatalf("%d bytes for %d x %d pixels", len(p.Pix), p.Width, p.Height)
		}
	}
	if _, err := a.fingerprint(); err != nil {
		t.Fatal(err)
	}
}

// claimsManyPixels reports whether decoding would take long.
func claimsManyPixels(a *archive, i int) bool {
	encoded, err := a.content(i)
	if f := formatOf(encoded); err == nil && f != nil {
		config, err := f.config(bytes.NewReader(encoded))
		return err == nil && config.Width*config.Height > 1<<16
	}
	return false
}

func FuzzTar(f *testing.F) {
	whole := tarOf(f, []file{{"a.jpg", photo(f, 0)}, {"b", photo(f, 1)}, {"c.txt", []byte("text")}})
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(append(whole, whole...))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := bytes.NewReader(content)
		a, err := openTar(context.Background(), "x.tar", file, file.Size(), nil, nil)
		readAll(t, a, err)
		if err == nil {
			for _, m := range a.members {
				if m.place < 0 || m.size < 0 || m.place > int64(len(content)) {
					t.Fatalf("member at %d of %d", m.place, len(content))
				}
			}
		}
	})
}

func FuzzZip(f *testing.F) {
	whole := zipOf(f, []file{{"a.jpg", photo(f, 0)}, {"b", photo(f, 1)}, {"c.txt", []byte("text")}})
	f.Add(whole)
	f.Add(whole[len(whole)/2:])
	f.Fuzz(func(t *testing.T, content []byte) {
		file := bytes.NewReader(content)
		a, err := openZip(context.Background(), "x.zip", file, file.Size(), nil, nil)
		readAll(t, a, err)
	})
}

func FuzzOrientation(f *testing.F) {
	f.Add(oriented(f, 6, binary.BigEndian))
	f.Add(oriented(f, 8, binary.LittleEndian)[:60])
	f.Fuzz(func(t *testing.T, content []byte) {
		if o := orientation(content); o < 1 || o > 8 {
			t.Fatalf("orientation %d", o)
		}
	})
}
