package generation

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/task/picture"
)

// A drawing has a row for every method whose samples are there, in the order of the tables.
func TestDraw(t *testing.T) {
	work := t.TempDir()
	var records []Record
	for i, row := range []string{"fsq", "grit", "ema"} {
		r := scored(Job{ID: "a-" + row, Data: "faces", Method: row, Codes: mainCodes, Seed: 1})
		records = append(records, r)
		if row == "ema" {
			continue // its samples are gone
		}
		if err := os.Mkdir(filepath.Join(work, r.ID), 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := picture.Create(filepath.Join(work, r.ID, firstFile), 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"000000", "000001"} {
			p := images.NewRGB(128, 128)
			for k := range p.Pix {
				p.Pix[k] = uint8(100 * i)
			}
			if err := out.Add(name, p); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	paths, err := Draw(t.Context(), records, work, dir)
	if err != nil || len(paths) != 1 || paths[0] != filepath.Join(dir, "generation-samples-faces.png") {
		t.Fatalf("%v, %v", paths, err)
	}
	file, err := os.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	drawn, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	// Right of the titles, the samples of grit (grey) are above those of fsq (black).
	b := drawn.Bounds()
	for row, want := range []uint32{100, 0} {
		if got, _, _, _ := drawn.At(b.Max.X-60, b.Min.Y+60+row*140).RGBA(); got>>8 != want {
			t.Errorf("row %d is %d, want %d", row, got>>8, want)
		}
	}
	if b.Dy() > 3*140 {
		t.Errorf("%d lines are more than two rows", b.Dy())
	}
}
