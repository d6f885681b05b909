package vectors

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"slices"
	"strings"
	"testing"
)

func TestNPZStoredAndDeflated(t *testing.T) {
	labels := npyBytes(npyDict("<i8", "(2,)", false), make([]byte, 16))
	fortran := npyBytes(npyDict(">f8", "(2, 3)", true), encodeFloats(">f8", []float32{1, -4, 2, 5.5, 3, 0.25}))
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		archive := zipBytes(t, method, map[string][]byte{"x.npy": []byte(goldenNPY), "labels.npy": labels, "readme.txt": []byte("hi")})
		path := writeFile(t, "a.npz", archive)
		spoolDir := t.TempDir()
		for _, open := range []struct {
			path string
			opt  Options
		}{{path, Options{}}, {path + ":x", Options{}}, {path + ":x.npy", Options{}}, {path, Options{Member: "x"}}} {
			open.opt.SpoolDir = spoolDir
			v := mustOpen(t, open.path, open.opt)
			if got := allRows(t, v); !slices.Equal(got, goldenValues) {
				t.Errorf("%s: got %v", open.path, got)
			}
			if v.Path() != path+":x" {
				t.Errorf("path %q", v.Path())
			}
		}
		v := mustOpen(t, writeFile(t, "f.npz", zipBytes(t, method, map[string][]byte{"f.npy": fortran})), Options{SpoolDir: spoolDir})
		if got := allRows(t, v); !slices.Equal(got, goldenValues) {
			t.Errorf("Fortran-ordered member: got %v", got)
		}
		wantEmptyDir(t, spoolDir)
	}
}

func TestOpenBadNPZ(t *testing.T) {
	golden := []byte(goldenNPY)
	labels := npyBytes(npyDict("<i8", "(2,)", false), make([]byte, 16))
	two := map[string][]byte{"a.npy": golden, "b.npy": golden, "labels.npy": labels}
	corrupt := func(method uint16) []byte {
		archive := zipBytes(t, method, map[string][]byte{"x.npy": golden})
		at := bytes.Index(archive, []byte("'shape'"))
		if at < 0 {
			at = 60
		}
		archive[at] ^= 0xff
		return archive
	}
	cut := zipBytes(t, zip.Store, map[string][]byte{"x.npy": golden[:len(golden)-8]})
	tests := []struct {
		name    string
		content []byte
		member  string
		want    []string
	}{
		{"several", zipBytes(t, zip.Store, two), "", []string{"several", "a <f4 (2, 3)", "b <f4 (2, 3)", "choose one"}},
		{"unknown member", zipBytes(t, zip.Store, two), "c", []string{`no member "c"`, "labels <i8 (2,)"}},
		{"unfit member", zipBytes(t, zip.Store, two), "labels", []string{"integers (<i8)", ":labels"}},
		{"only unfit", zipBytes(t, zip.Store, map[string][]byte{"labels.npy": labels}), "", []string{"integers"}},
		{"no fit", zipBytes(t, zip.Store, map[string][]byte{"l.npy": labels, "m.npy": labels}), "", []string{"no 2-d array", "l <i8 (2,)"}},
		{"no arrays", zipBytes(t, zip.Store, map[string][]byte{"data.pkl": {1, 2}}), "", []string{"without NumPy arrays"}},
		{"no directory", zipBytes(t, zip.Store, two)[:300], "", []string{"damaged .npz"}},
		{"wrong magic", []byte("no zip at all"), "", []string{"no .npz archive", "numpy.savez"}},
		{"truncated member", cut, "", []string{"truncated", "needs 152 bytes", "found 144"}},
		{"truncated deflated member", zipBytes(t, zip.Deflate, map[string][]byte{"x.npy": golden[:len(golden)-8]}), "",
			[]string{"truncated", "found 144"}},
		{"corrupt deflated member", corrupt(zip.Deflate), "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spoolDir := t.TempDir()
			path := writeFile(t, "a.npz", test.content)
			_, err := Open(context.Background(), path, Options{Member: test.member, SpoolDir: spoolDir})
			wantError(t, err, append(test.want, path)...)
			wantEmptyDir(t, spoolDir)
		})
	}
}

// An array that is claimed to grow a millionfold is refused before anything is written.
func TestNPZThatFillsADisk(t *testing.T) {
	var packed, archive bytes.Buffer
	deflate, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	array := npyBytes(npyDict("<f4", "(268435456, 2)", false), make([]byte, 1<<16))
	deflate.Write(array)
	deflate.Close()
	w := zip.NewWriter(&archive)
	member, err := w.CreateRaw(&zip.FileHeader{Name: "x.npy", Method: zip.Deflate,
		CompressedSize64: uint64(packed.Len()), UncompressedSize64: uint64(len(array)) - 1<<16 + 1<<31})
	if err != nil {
		t.Fatal(err)
	}
	member.Write(packed.Bytes())
	w.Close()
	spool := t.TempDir()
	_, err = Open(context.Background(), writeFile(t, "bomb.npz", archive.Bytes()), Options{SpoolDir: spool})
	if err == nil || !strings.Contains(err.Error(), "x inflates from ") || !strings.Contains(err.Error(), " to 2.0 GiB, as no vectors do") {
		t.Errorf("got %v", err)
	}
	wantEmptyDir(t, spool)
}
