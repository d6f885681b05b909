package images

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// file is a member of a test archive.
type file struct {
	name    string
	content []byte
}

// photo is a small JPEG, a different one for every number.
func photo(t testing.TB, number int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, drawScene(9, number, 20), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mixedFiles are pictures among files that usually surround them, and the keys
// of the pictures, in sorted order.
func mixedFiles(t testing.TB) (files []file, keys []string) {
	png := pngOf(t, drawScene(9, 5, 20))
	return []file{
		{".hidden.jpg", photo(t, 0)},
		{"__MACOSX/a.jpg", photo(t, 0)},
		{"a.cls", []byte("7")},
		{"a.jpg", photo(t, 0)},
		{"a.json", []byte(`{"label": 7}`)},
		{"a.png", png},
		{"b/.thumbs/x.jpg", photo(t, 0)},
		{"b/BMW.txt", []byte("BMW is a maker of cars, see JPEG.")},
		{"b/c.d.PNG", png}, // PNG by name and content
		{"b/misnamed.gif", photo(t, 1)},
		{"b/nameless", photo(t, 2)},
		{"z/broken.jpg", []byte("no picture")},
	}, []string{"a", "a.png", "b/c.d", "b/misnamed", "b/nameless", "z/broken"}
}

func writeFolder(t testing.TB, files []file) string {
	t.Helper()
	root := t.TempDir()
	for _, f := range files {
		path := filepath.Join(root, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func tarOf(t testing.TB, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: "./" + f.name, Mode: 0o644, Size: int64(len(f.content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		member, err := w.Create(strings.ReplaceAll(f.name, "/", `\`)) // as some Windows programs do
		if err != nil {
			t.Fatal(err)
		}
		if _, err := member.Write(f.content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// written puts content into a file of the given name.
func written(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustOpen(t testing.TB, path string, options Options) *Set {
	t.Helper()
	set, err := Open(context.Background(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

func keysOf(set *Set) (keys []string) {
	for i := range set.Len() {
		keys = append(keys, set.Key(i))
	}
	return keys
}

func TestFolderTarAndZipHoldTheSamePictures(t *testing.T) {
	files, keys := mixedFiles(t)
	fingerprints := map[string]bool{}
	for _, path := range []string{writeFolder(t, files), written(t, "x.tar", tarOf(t, files)), written(t, "x.zip", zipOf(t, files))} {
		set := mustOpen(t, path, Options{Size: 16})
		if got := keysOf(set); !slices.Equal(got, keys) {
			t.Fatalf("%s: keys %q, want %q", path, got, keys)
		}
		fingerprint, err := set.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		fingerprints[fingerprint] = true
		for i, want := range map[int][]byte{0: photo(t, 0), 3: photo(t, 1), 4: photo(t, 2)} {
			p, err := set.Whole(i)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(p.Pix, mustDecode(t, want).Pix) {
				t.Errorf("%s: picture %d is another one", path, i)
			}
		}
		if _, err := set.Whole(5); err == nil || !strings.Contains(err.Error(), "picture z/broken is damaged: its content is no JPEG") {
			t.Errorf("%s: error of the broken picture: %v", path, err)
		}
	}
	if len(fingerprints) != 1 {
		t.Errorf("fingerprints %v, want the same of all", fingerprints)
	}
}

func TestFingerprintSeesEveryByteAndName(t *testing.T) {
	base := []file{{"a.jpg", photo(t, 0)}, {"b.jpg", photo(t, 1)}}
	changed := slices.Clone(photo(t, 1))
	changed[len(changed)-5] ^= 1
	seen := map[string]string{}
	for what, files := range map[string][]file{
		"as is":       base,
		"renamed":     {base[0], {"c.jpg", base[1].content}},
		"another bit": {base[0], {"b.jpg", changed}},
		"swapped":     {{"a.jpg", base[1].content}, {"b.jpg", base[0].content}},
		"one less":    base[:1],
		"order":       {base[1], base[0]},
	} {
		fingerprint, err := mustOpen(t, written(t, "x.tar", tarOf(t, files)), Options{}).Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[fingerprint]; ok {
			t.Errorf("%s and %s have the same fingerprint", what, other)
		}
		seen[fingerprint] = what
	}
}

func TestFingerprintOfMuchIsSampled(t *testing.T) {
	const count = 1000
	members := make([]member, count)
	for i := range members {
		members[i] = member{name: fmt.Sprintf("%d.jpg", i), size: fingerprintBytes / 500}
	}
	var read []string
	a := newArchive("x", members, func(m member) ([]byte, error) {
		read = append(read, m.name)
		return []byte(m.name), nil
	}, nil)
	fingerprint, err := a.fingerprint()
	if err != nil || !strings.HasPrefix(fingerprint, "sha256-sampled:") {
		t.Fatalf("%s, %v", fingerprint, err)
	}
	if len(read) != fingerprintFiles || len(slices.Compact(slices.Clone(read))) != len(read) || read[0] != "0.jpg" ||
		read[len(read)-1] != "999.jpg" {
		t.Fatalf("read %d files, from %s to %s", len(read), read[0], read[len(read)-1])
	}
}

func TestNamesStayInsideAndKeysUnique(t *testing.T) {
	files := []file{{"../../etc/x.jpg", photo(t, 0)}, {"/abs.jpg", photo(t, 1)}, {"abs.jpg", photo(t, 2)}, {"abs.jpg", photo(t, 3)},
		{"abs.jpg", photo(t, 4)}}
	set := mustOpen(t, written(t, "x.tar", tarOf(t, files)), Options{})
	if got, want := keysOf(set), []string{"etc/x", "abs", "abs.jpg", "abs.jpg#2", "abs.jpg#3"}; !slices.Equal(got, want) {
		t.Fatalf("keys %q, want %q", got, want)
	}
}

func TestLinksAreFollowedButNotInCircles(t *testing.T) {
	root := writeFolder(t, []file{{"real/a.jpg", photo(t, 0)}})
	for name, target := range map[string]string{"linked": "real", "real/up": "..", "b.jpg": "real/a.jpg", "dangling.jpg": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	if got, want := keysOf(mustOpen(t, root, Options{})), []string{"b", "linked/a", "real/a"}; !slices.Equal(got, want) {
		t.Fatalf("keys %q, want %q", got, want)
	}
}

func TestShardsPackedTogetherAreAllRead(t *testing.T) {
	both := append(tarOf(t, []file{{"a.jpg", photo(t, 0)}}), tarOf(t, []file{{"b.jpg", photo(t, 1)}})...)
	set := mustOpen(t, written(t, "x.tar", both), Options{})
	if got := keysOf(set); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("keys %q", got)
	}
	if p, err := set.Whole(1); err != nil || !bytes.Equal(p.Pix, mustDecode(t, photo(t, 1)).Pix) {
		t.Fatalf("the second shard's picture: %v", err)
	}
}

func TestATarCutAnywhereIsRefused(t *testing.T) {
	whole := tarOf(t, []file{{"a.jpg", photo(t, 0)}, {"b.jpg", photo(t, 1)}})
	marked := len(whole) - 2*tarBlock // the end mark is two blocks
	for cut := 1; cut <= marked; cut += 97 {
		path := written(t, "x.tar", whole[:cut])
		if _, err := Open(context.Background(), path, Options{}); err == nil || !strings.Contains(err.Error(), "is cut short") {
			t.Fatalf("cut at byte %d of %d: %v", cut, len(whole), err)
		}
	}
	if _, err := Open(context.Background(), written(t, "x.tar", whole[:marked]), Options{}); err == nil {
		t.Fatal("a tar without its end mark was taken for whole")
	}
	mustOpen(t, written(t, "x.tar", whole[:marked+tarBlock]), Options{}) // half a mark will do
}

func TestImpossibleSourcesSayWhy(t *testing.T) {
	labels := []file{{"a.txt", []byte("a cat")}}
	for reason, path := range map[string]string{
		"file does not exist; check the path":                          filepath.Join(t.TempDir(), "missing"),
		"hold no pictures (JPEG, PNG, GIF, WebP or BMP)":               writeFolder(t, labels),
		"holds no pictures (JPEG, PNG, GIF, WebP or BMP) among its 1 ": written(t, "x.tar", tarOf(t, labels)),
		"among its 1 members; pack":                                    written(t, "x.zip", zipOf(t, labels)),
		"is neither a folder nor a tar, a zip or a picture":            written(t, "notes.txt", []byte("hello")),
		"is no picture: its content is no JPEG":                        written(t, "x.jpg", []byte("hello")),
		"is no picture: TIFF pictures are not read; convert it":        written(t, "x.tif", []byte("MM\x00*\x00\x00")),
		"is empty; write it again":                                     written(t, "x.tar", nil),
		"compressed as a whole":                                        written(t, "x.tar.gz", []byte("\x1f\x8b\x08\x00")),
		"is cut short or damaged: the list of contents":                written(t, "x.zip", zipOf(t, labels)[:40]),
		"is no zip: it begins with":                                    written(t, "x.zip", []byte("hello")),
		"is no sound tar after byte 0 of 600":                          written(t, "x.tar", bytes.Repeat([]byte("x"), 600)),
		`no built-in set of pictures "faces"; known: scenes`:           "synthetic:faces",
		`has no parameter "rows"; known: images, size, seed`:           "synthetic:scenes?rows=3",
		"size=0 in synthetic:scenes?size=0 is impossible: expected":    "synthetic:scenes?size=0",
		"seed=-1 in synthetic:scenes?seed=-1 is impossible: expected":  "synthetic:scenes?seed=-1",
		"cannot understand":                                            "synthetic:scenes?%zz",
	} {
		_, err := Open(context.Background(), path, Options{Size: 8})
		if err == nil || !strings.Contains(err.Error(), reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", path, err, reason)
		}
	}
	for reason, options := range map[string]Options{
		"squares of -1 pixels":     {Size: -1},
		"a short side of 10":       {Size: 16, Short: 10},
		"-2 workers cannot decode": {Size: 16, Workers: -2},
	} {
		if _, err := Open(context.Background(), "synthetic:scenes", options); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("error %v, want one with %q", err, reason)
		}
	}
}

func TestOpenHeedsItsContextAndTellsProgress(t *testing.T) {
	files, _ := mixedFiles(t)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, path := range map[string]string{"folder": writeFolder(t, files), "tar": written(t, "x.tar", tarOf(t, files)),
		"zip": written(t, "x.zip", zipOf(t, files))} {
		if _, err := Open(cancelled, path, Options{}); err == nil {
			t.Errorf("%s: opened under a cancelled context", name)
		}
		calls, last := 0, int64(-1)
		mustOpen(t, path, Options{Progress: func(done, total int64) {
			if done < last || total != 0 && done > total {
				t.Errorf("%s: progress %d of %d after %d", name, done, total, last)
			}
			calls, last = calls+1, done
		}})
		if calls < len(files)-3 {
			t.Errorf("%s: progress told %d times", name, calls)
		}
	}
}

func TestAVanishedFileIsDamagedButABadDiskIsAnError(t *testing.T) {
	fail := error(&fs.PathError{Op: "read", Path: "a.jpg", Err: fs.ErrNotExist})
	a := newArchive("x", []member{{name: "a.jpg", size: 1}}, func(member) ([]byte, error) { return nil, fail }, nil)
	options, err := Options{Size: 4}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	set := newSet("x", a, options)
	if _, err := set.Whole(0); err == nil || err.Error() != "picture a is damaged: it is gone" {
		t.Fatalf("vanished: %v", err)
	}
	fail = &fs.PathError{Op: "read", Path: "a.jpg", Err: fmt.Errorf("input/output error")}
	set = newSet("x", a, options)
	if _, err := set.Whole(0); err == nil || !strings.Contains(err.Error(), "input/output error") {
		t.Fatalf("bad disk: %v", err)
	}
	if _, err := set.Centre([]int{0}, make([]uint8, 48)); err == nil || len(set.damagedSoFar()) != 0 {
		t.Fatalf("a bad disk was taken for a damaged picture: %v", set.damagedSoFar())
	}
}

func TestZipMembersAreChecked(t *testing.T) {
	files := []file{{"a.jpg", photo(t, 0)}, {"b.jpg", photo(t, 1)}}
	packed := zipOf(t, files)
	packed[100] ^= 0xff // inside the first member's data
	set := mustOpen(t, written(t, "x.zip", packed), Options{})
	if _, err := set.Whole(0); err == nil {
		t.Error("a changed member was accepted")
	}
	if _, err := set.Whole(1); err != nil {
		t.Error(err)
	}
	forged := &zip.File{FileHeader: zip.FileHeader{Name: "a.jpg", Flags: encrypted}}
	if _, err := readZipped(forged); err == nil || !strings.Contains(err.Error(), "encrypted") {
		t.Errorf("encrypted member: %v", err)
	}
	huge := newArchive("x", []member{{name: "bomb.png", size: maxEncoded + 1}}, func(member) ([]byte, error) { panic("read") }, nil)
	if _, err := huge.picture(0); err == nil || !strings.Contains(err.Error(), "its 512 MiB are more") {
		t.Errorf("huge member: %v", err)
	}
}
