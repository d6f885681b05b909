package faiss

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is an index of 5 codes a level, behind all kinds of transforms, with IDs.
func sample() *Index {
	x := &Index{Dim: 2, Codes: 5, Beam: 7, Rows: []uint32{4, 0, 3, 2, 1, 4}, IDs: []int64{7, -1, 1 << 40}, Transforms: []Transform{
		{In: 3, Out: 3, Mean: []float32{1, 2, 3}}, {In: 3, Out: 2, Matrix: []float32{1, 0, 0, 0, 1, 0}, Bias: []float32{5, 6}},
		{In: 2, Out: 2, Unit: true},
	}}
	for level := range 2 {
		var book []float32
		for i := range 10 {
			book = append(book, float32(10*level+i))
		}
		x.Books = append(x.Books, book)
	}
	return x
}

func encoded(t testing.TB, x *Index) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "index.faiss")
	if err := Write(path, x); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestReadGivesBackWhatWasWritten(t *testing.T) {
	residual := sample()
	product := sample()
	product.Product, product.Dim, product.Beam, product.Transforms, product.IDs = true, 4, 0, nil, nil
	empty := sample()
	empty.Rows, empty.IDs, empty.Transforms = nil, nil, nil
	for name, want := range map[string]*Index{"residual": residual, "product": product, "empty": empty} {
		got, err := Decode(encoded(t, want))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.Rows) == 0 {
			got.Rows = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
}

// Codes of 5 take 3 bits, the lowest first, and codebooks are filled up to 8 far codes.
func TestLayoutByHand(t *testing.T) {
	x := sample()
	if got := x.pack(); !bytes.Equal(got, []byte{4 | 0<<3, 3 | 2<<3, 1 | 4<<3}) {
		t.Errorf("packed %v", got)
	}
	books := x.books()
	if len(books) != 2*8*2 || books[9] != 9 || books[10] != far || books[15] != far || books[16] != 10 {
		t.Errorf("the codebooks are %v", books)
	}
}

func TestDecodeRefusesDamage(t *testing.T) {
	whole := encoded(t, sample())
	for cut := range len(whole) {
		if _, err := Decode(whole[:cut]); err == nil {
			t.Fatalf("the first %d of %d bytes were read as an index", cut, len(whole))
		}
	}
	for want, content := range map[string][]byte{
		`it is of kind "IxFI"`: []byte("IxFI and more"),
		"bytes follow its end": append(bytes.Clone(whole), 0),
		"is not trained":       append(bytes.Clone(whole[:32]), append([]byte{0}, whole[33:]...)...),
		"its metric is number": append(bytes.Clone(whole[:33]), append([]byte{0}, whole[34:]...)...),
	} {
		if _, err := Decode(content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, sample()))
	product := sample()
	product.Product, product.Dim, product.Transforms = true, 4, nil
	f.Add(encoded(f, product))
	f.Fuzz(func(t *testing.T, content []byte) {
		if x, err := Decode(content); err == nil && x.check() != nil {
			t.Errorf("read an index that cannot be written: %v", x.check())
		}
	})
}

func TestWriteRefuses(t *testing.T) {
	for want, spoil := range map[string]func(*Index){
		"row 0 holds code 5 of 5":                    func(x *Index) { x.Rows[1] = 5 },
		"2 IDs were given for 3 vectors":             func(x *Index) { x.IDs = x.IDs[:2] },
		"codebook 1 has 9 numbers":                   func(x *Index) { x.Books[1] = x.Books[1][:9] },
		"FAISS cuts vectors into parts of equal wid": func(x *Index) { x.Product, x.Dim = true, 5 },
		"65537 codes a position are more than":       func(x *Index) { x.Codes = 65537 },
	} {
		x := sample()
		spoil(x)
		if err := Write(filepath.Join(t.TempDir(), "i"), x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Codes before a rotation, a shift and a mean decode to the vectors that FAISS decodes.
func TestUndoTurnsCodesBack(t *testing.T) {
	x := sample()
	x.Transforms = []Transform{
		{In: 3, Out: 3, Mean: []float32{1, 2, 3}}, {In: 3, Out: 2, Matrix: []float32{0.6, 0.8, 0, -0.8, 0.6, 0}, Bias: []float32{5, 6}},
	}
	if err := x.Undo(); err != nil || x.Dim != 3 || len(x.Transforms) > 0 {
		t.Fatalf("%d dimensions, %v", x.Dim, err)
	}
	// Code 1 of both levels is (2, 3) + (12, 13); less the bias (9, 10), turned back (-2.6, 13.2, 0), plus the mean.
	for i, want := range []float32{-1.6, 15.2, 3} {
		if got := x.Books[0][3+i] + x.Books[1][3+i]; got-want > 1e-5 || want-got > 1e-5 {
			t.Errorf("coordinate %d is %g, want %g", i, got, want)
		}
	}
	for want, change := range map[string]func(*Index){
		"normalised":     func(*Index) {},
		"not orthonorma": func(x *Index) { x.Transforms = x.Transforms[1:2]; x.Transforms[0].Matrix[0] = 2 },
		"--method opq":   func(x *Index) { x.Transforms, x.Product = x.Transforms[1:2], true },
	} {
		x := sample()
		change(x)
		if err := x.Undo(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
