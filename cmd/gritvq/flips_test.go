package main

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/prior"
	"github.com/gritvq/gritvq/task/recommend"
)

// unchecked are the files that no result depends on, for people.
var unchecked = []string{bundle.LogFile, bundle.ReportFile, bundle.CardFile}

// A flipped bit in any file of anything that is stored is noticed when it is read.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	const pictures, shop = "synthetic:scenes?images=8&size=16", "synthetic:shop?users=40&items=30"
	runToEnd(t, []string{"train", pictures, "-o", at("tok"), "--size", "16", "--width", "8,16", "--dim", "4", "--codes", "8", "--steps", "2",
		"--batch", "2"})
	runToEnd(t, []string{"prior", "train", at("tok"), pictures, "-o", at("prior"), "--layers", "1", "--width", "16", "--heads", "2",
		"--steps", "2", "--batch", "2"})
	runToEnd(t, []string{"ids", shop, "-o", at("ids"), "--codes", "8", "--levels", "2", "--steps", "5", "--hidden", "none"})
	runToEnd(t, []string{"ids", shop, shop, "--name", "x", "--name", "y", "-o", at("union"), "--codes", "8", "--levels", "2", "--steps", "5",
		"--hidden", "none"})
	runToEnd(t, []string{"recommend", "train", at("ids"), shop, "-o", at("model"), "--model", "transitions"})
	runToEnd(t, []string{"encode", at("tok"), pictures, "-o", at("codes.gvq")})
	runToEnd(t, []string{"decode", at("tok"), at("codes.gvq"), "-o", at("drawn")})
	drawn, err := filepath.Glob(at("drawn/*.png"))
	if err != nil || len(drawn) == 0 {
		t.Fatal(drawn, err)
	}
	runToEnd(t, []string{"encode", at("tok"), drawn[0], "-o", at("picture.gvq")})
	tok, err := bundle.Load(at("tok"))
	if err != nil {
		t.Fatal(err)
	}
	readIDs := func(dir string) error { _, err := catalogue.Open(t.Context(), dir); return err }
	for name, read := range map[string]func() error{
		"tok": func() error { _, err := bundle.Load(at("tok")); return err },
		"prior": func() error {
			p, err := prior.Load(at("prior"))
			if err == nil {
				_, err = p.Tokenizer()
			}
			return err
		},
		"ids": func() error {
			if err := readIDs(at("ids")); err != nil {
				return err
			}
			if _, err := os.Stat(at("ids/titles.safetensors")); err == nil {
				if _, err := catalogue.LoadText(at("ids/titles.safetensors")); err != nil {
					return err
				}
			}
			_, err := bundle.Load(at("ids/tokenizer"))
			return err
		},
		"union": func() error {
			u, err := catalogue.LoadUnion(at("union"))
			if err == nil && !slices.Equal(u.Catalogues, []string{"x", "y"}) {
				t.Errorf("read the catalogues %q", u.Catalogues)
			}
			return err
		},
		"model":     func() error { _, err := recommend.Load(t.Context(), at("model"), recommend.Recommending); return err },
		"codes.gvq": func() error { return readPacked(at("codes.gvq")) },
		"picture.gvq": func() error {
			file, err := os.Open(at("picture.gvq"))
			if err != nil {
				return err
			}
			defer file.Close()
			_, err = codes.Decode(file, tok.Manifest.Fingerprint(), tok.Entropy)
			return err
		},
	} {
		if err := read(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		files, flips := 0, 0
		err := filepath.WalkDir(at(name), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || slices.Contains(unchecked, e.Name()) || filepath.Ext(path) == ".npy" ||
				name == "union" && filepath.Dir(path) != at("union") {
				return err
			}
			files++
			flips += flipBits(t, path, read)
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("%s: %d files, %v", name, files, err)
		}
		t.Logf("%s: %d flips in %d files", name, flips, files)
	}
}

// flipBits flips bits of a file, some in every part of it and more of a manifest, and expects that read fails.
func flipBits(t *testing.T, path string, read func() error) (flips int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := 16
	if filepath.Base(path) == artifact.ManifestFile {
		parts = 64
	}
	rng := rand.New(rand.NewPCG(uint64(len(content)), 1))
	positions := []int{0, len(content) - 1}
	for i := range parts {
		positions = append(positions, (i*len(content)+rng.IntN(len(content)))/parts)
	}
	for _, i := range positions {
		damaged := slices.Clone(content)
		damaged[i] ^= 1 << rng.IntN(8)
		if err := os.WriteFile(path, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		if read() == nil {
			t.Errorf("%s: byte %d of %d, %q for %q, was not noticed", path, i, len(content), damaged[i], content[i])
		}
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return len(positions)
}

// readPacked reads a file of codes to its end.
func readPacked(path string) error {
	file, err := codes.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Rows(0, file.Len(), make([]uint32, file.Len()*file.Levels()))
}
