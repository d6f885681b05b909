package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A note is a kind that older versions stored without stating it.
type note struct {
	Head
	Words int    `json:"words"`
	Old   string `json:"old_sha256,omitempty"`
}

func (n *note) Upgrade() {
	if n.Old != "" {
		n.Files, n.Old = []File{{Name: "note.txt", SHA256: n.Old, Size: -1}}, ""
	}
}

var (
	notes = Register(Kind{
		Names: []string{"note"}, Title: "note", Command: "gritvq write", Usage: "TEXT -o", Schema: 3, Oldest: 2,
		Files: []string{"note.txt"}, Extra: []string{"log"}, Begun: []string{"draft", "log"}, OldKey: "words",
	})
	songs = Register(Kind{
		Names: []string{"folk", "opera"}, Title: "song", Command: "gritvq sing", Usage: "-o", Schema: 1, Files: []string{"song.txt"},
	})
)

func written(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	m := &note{Head: Provenance("gritvq test", "gritvq write x"), Words: 2}
	if err := notes.Write(dir, m, Bytes("note.txt", []byte("two words"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReadGivesBackTheManifest(t *testing.T) {
	dir := written(t)
	var m note
	if err := notes.Read(dir, &m); err != nil {
		t.Fatal(err)
	}
	want := note{Head: Head{
		Schema: 3, Kind: "note", CreatedBy: "gritvq test", Created: m.Created, Command: "gritvq write x",
		Files: []File{DescribeBytes("note.txt", []byte("two words"))},
	}, Words: 2}
	if diff := cmp.Diff(want, m); diff != "" || m.Created.IsZero() {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	k, h, err := Identify(dir)
	if k != notes || h.Kind != "note" || h.Schema != 3 || err != nil {
		t.Errorf("identified as %v, %+v, %v", k, h, err)
	}
	if f, ok := m.File("note.txt"); !ok || f.Size != 9 {
		t.Errorf("entry %+v", f)
	}
	if _, ok := m.File("song.txt"); ok {
		t.Error("found a file that is not listed")
	}
}

func edit(name string, change func(string) string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		path := filepath.Join(dir, name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := change(string(content))
		if changed == string(content) {
			t.Fatal("nothing was changed")
		}
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func replace(old, with string) func(string) string {
	return func(s string) string { return strings.Replace(s, old, with, 1) }
}

func drop(name string) func(testing.TB, string) {
	return func(t testing.TB, dir string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	const again = "; copy the directory again, or make it again with gritvq write"
	for name, c := range map[string]struct {
		spoil func(testing.TB, string)
		want  string
		cause error
	}{
		"truncated file": {edit("note.txt", replace("words", "wor")), "note.txt is truncated: it has 7 of 9 bytes" + again, nil},
		"longer file":    {edit("note.txt", replace("words", "wordss")), "damaged: its checksum is not that of the manifest" + again, nil},
		"damaged file":   {edit("note.txt", replace("words", "wards")), "note.txt is damaged: its checksum", nil},
		"missing file":   {drop("note.txt"), "note.txt is missing" + again, nil},
		"no JSON":        {edit(ManifestFile, replace("{", "")), "manifest.json is damaged: it is no JSON object", nil},
		"newer schema": {
			edit(ManifestFile, replace(`"schema": 3`, `"schema": 4`)),
			"has schema 4, made by gritvq test, and this gritvq reads up to schema 3; upgrade gritvq", ErrNewerSchema,
		},
		"older schema": {
			edit(ManifestFile, replace(`"schema": 3`, `"schema": 1`)),
			"has schema 1, made by gritvq test, which this gritvq no longer reads; make it again with: gritvq write TEXT -o ", nil,
		},
		"no schema":   {edit(ManifestFile, replace("schema", "scheme")), "states no schema version", nil},
		"no files":    {edit(ManifestFile, replace("files", "flies")), "lists no files", nil},
		"other file":  {edit(ManifestFile, replace("note.txt", "../x")), `entry for file "../x" makes no sense`, nil},
		"no checksum": {edit(ManifestFile, replace(`"sha256": "`, `"sha256": "00`)), `entry for file "note.txt" makes no sense`, nil},
		"another kind": {
			edit(ManifestFile, replace(`"note"`, `"folk"`)),
			`is no note but a song (kind "folk"); name a directory that gritvq write made`, nil,
		},
		"unknown kind": {edit(ManifestFile, replace(`"note"`, `"dance"`)), `is no note but of kind "dance"; name`, nil},
		"no kind":      {edit(ManifestFile, func(string) string { return "{}" }), "is no note but something else; name", nil},
		"wrong type":   {edit(ManifestFile, replace(`"words": 2`, `"words": "two"`)), "manifest.json is damaged: json", nil},
		"not there":    {drop(ManifestFile), "it has no manifest.json; make one with: gritvq write TEXT -o NEW", fs.ErrNotExist},
		"unfinished": {func(t testing.TB, dir string) {
			if err := os.Rename(filepath.Join(dir, ManifestFile), filepath.Join(dir, "draft")); err != nil {
				t.Fatal(err)
			}
		}, "is unfinished; repeat gritvq write with --resume", ErrUnfinished},
	} {
		t.Run(name, func(t *testing.T) {
			dir := written(t)
			c.spoil(t, dir)
			err := notes.Read(dir, &note{})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, c.want)
			}
			if c.cause != nil && !errors.Is(err, c.cause) {
				t.Errorf("%v is not %v", err, c.cause)
			}
		})
	}
	none := filepath.Join(t.TempDir(), "none")
	err := notes.Read(none, &note{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(), "make one with: gritvq write TEXT -o "+none) {
		t.Errorf("a missing directory gave %v", err)
	}
	err = notes.Read(filepath.Join(written(t), "note.txt"), &note{})
	if err == nil || !strings.Contains(err.Error(), "is a file; a note is a directory") {
		t.Errorf("a file gave %v", err)
	}
}

func TestReadFindsTheKindBelow(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "notes")
	if err := os.Rename(written(t), inner); err != nil {
		t.Fatal(err)
	}
	if err := songs.Write(dir, &note{Head: Head{Kind: "opera"}}, Bytes("song.txt", nil)); err != nil {
		t.Fatal(err)
	}
	if err := notes.Read(dir, &note{}); err == nil || !strings.HasSuffix(err.Error(), `a song (kind "opera"); there is one in `+inner) {
		t.Errorf("got %v", err)
	}
}

func TestManifestsWithoutKindStillOpen(t *testing.T) {
	dir := written(t)
	sum := DescribeBytes("", []byte("two words")).SHA256
	if err := os.WriteFile(filepath.Join(dir, ManifestFile), []byte(`{"schema": 2, "words": 2, "old_sha256": "`+sum+`"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var m note
	if err := notes.Read(dir, &m); err != nil || m.Kind != "note" || m.Words != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	edit("note.txt", replace("two", "too"))(t, dir)
	if err := notes.Read(dir, &m); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a damaged file gave %v", err)
	}
}

func TestWriteRefuses(t *testing.T) {
	for want, err := range map[string]error{
		`"dance" is no kind of song`: songs.Write(t.TempDir(), &note{Head: Head{Kind: "dance"}}, Bytes("song.txt", nil)),
		`"note" is no kind of song`:  songs.Write(t.TempDir(), &note{Head: Head{Kind: "note"}}, Bytes("song.txt", nil)),
		`"x.txt" makes no sense`:     notes.Write(t.TempDir(), &note{}, Bytes("x.txt", nil)),
		"lists no files":             notes.Write(t.TempDir(), &note{}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	// A file that cannot be written leaves no manifest behind.
	dir, failure := written(t), errors.New("disk full")
	if err := notes.Write(dir, &note{}, Part{"note.txt", func(string) error { return failure }}); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if state, _ := notes.State(dir); state != Absent {
		t.Errorf("state %v", state)
	}
	defer func() {
		if recover() == nil {
			t.Error("a name was registered twice")
		}
	}()
	Register(Kind{Names: []string{"opera"}})
}

func TestClearLeavesForeignFiles(t *testing.T) {
	dir := written(t)
	for _, name := range []string{"mine.txt", ".note.txt.123.tmp", ".draft.7.tmp", "log"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if state, err := notes.State(dir); state != Finished || err != nil {
		t.Errorf("state %v, %v", state, err)
	}
	if err := notes.Clear(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "mine.txt" {
		t.Errorf("left %v, %v", entries, err)
	}
	if state, err := notes.State(dir); state != Absent || err != nil {
		t.Errorf("state %v, %v", state, err)
	}
}

func FuzzManifest(f *testing.F) {
	content, err := os.ReadFile(filepath.Join(written(f), ManifestFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte(`{"schema":2,"words":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, content []byte) {
		if _, err := parseHead(content); err != nil {
			return
		}
		var m, copied note
		if notes.parse(content, &m) != nil {
			return
		}
		first, err := json.Marshal(&m)
		if err != nil {
			t.Fatalf("accepted a manifest that cannot be written: %v", err)
		}
		if err := notes.parse(first, &copied); err != nil {
			t.Fatalf("accepted a manifest but not its copy: %v", err)
		}
		if second, _ := json.Marshal(&copied); !bytes.Equal(first, second) {
			t.Fatalf("%s became %s", first, second)
		}
	})
}
