package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/internal/memorytest"
	"github.com/gritvq/gritvq/internal/seal"
)

// sample has shared codes, awkward names and two versions.
func sample(t testing.TB, method Resolution) *Table {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	codes, keys := make([]uint32, 3*3000), make([]string, 3000)
	for i := range codes {
		codes[i] = uint32(random.IntN(12))
	}
	for i := range keys {
		keys[i] = fmt.Sprintf("item \"%d\" <ü>\t", i)
	}
	ranked := func(first int) Distances { return nearby(12, func(item int) uint32 { return codes[3*(first+item)+2] }) }
	options := BuildOptions{Resolve: method, Distances: ranked(0), Tokenizer: "sha256:abc"}
	table, err := Build(codes[:6000], []int{12, 12, 12}, keys[:2000], options)
	must(t, table, err)
	if err := table.Add(codes[6000:], keys[2000:], ranked(2000)); err != nil {
		t.Fatal(err)
	}
	return table
}

var unexported = cmp.AllowUnexported(Table{})

func TestSavedTablesRoundTrip(t *testing.T) {
	for _, method := range Resolutions {
		want, dir := sample(t, method), filepath.Join(t.TempDir(), "deep", "ids")
		want.SetProvenance(artifact.Provenance("gritvq test", "gritvq ids x.npy"))
		if err := want.Save(dir); err != nil {
			t.Fatal(err)
		}
		got, err := Load(dir)
		must(t, got, err)
		if diff := cmp.Diff(want, got, unexported); diff != "" {
			t.Errorf("%s differs:\n%.500s", method, diff)
		}
		again := t.TempDir()
		if err := got.Save(again); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{ParquetFile, artifact.ManifestFile} {
			x, _ := os.ReadFile(filepath.Join(dir, name))
			y, _ := os.ReadFile(filepath.Join(again, name))
			if len(x) == 0 || !bytes.Equal(x, y) {
				t.Errorf("%s of one table came out twice, differently", name)
			}
		}
		// A loaded table goes on as the one in memory would.
		if err := got.Add([]uint32{1, 2, 3}, []string{"new"}, nearby(12, func(int) uint32 { return 3 })); err != nil {
			t.Fatal(err)
		}
		if err := want.Add([]uint32{1, 2, 3}, []string{"new"}, nearby(12, func(int) uint32 { return 3 })); err != nil {
			t.Fatal(err)
		}
		if render(got) != render(want) || got.Version() != 3 || got.provenance.Command != want.provenance.Command {
			t.Error("the loaded table went on differently")
		}
	}
}

// older copies a directory whose manifest states no kind and one file.
func older(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "schema1"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOlderTableIsUpgraded(t *testing.T) {
	dir := older(t)
	c, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Version() != 2 || c.Title("h") != "trail running shoes" || !slices.Equal(c.ID(7), []uint32{3, 2, 0}) {
		t.Errorf("version %d, %q has ID %v", c.Version(), c.Title("h"), c.ID(7))
	}
	// An older replacement that ended after the manifest.
	path := filepath.Join(dir, artifact.ManifestFile)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(content), `"780de0d8`, `"00000000`, 1)
	text = strings.TrimSuffix(text, "}\n") + `, "previous": ` + string(content) + "}"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if diff := cmp.Diff(c.Table, must(t, again, err), unexported); diff != "" {
		t.Errorf("the previous table differs:\n%.500s", diff)
	}
	if err := again.Save(dir); err != nil {
		t.Fatal(err)
	}
	content, err = os.ReadFile(path)
	if err != nil || !bytes.Contains(content, []byte(`"kind": "ids"`)) || bytes.Contains(content, []byte(`"file":`)) {
		t.Errorf("stored as %s, %v", content, err)
	}
}

func TestReplacingATable(t *testing.T) {
	dir := t.TempDir()
	old := sample(t, Token)
	if err := old.Save(dir); err != nil {
		t.Fatal(err)
	}
	table := sample(t, Token)
	if err := table.Add([]uint32{1, 2, 3}, []string{"new"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := table.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if must(t, got, err).Version() != 3 {
		t.Errorf("version %d", got.Version())
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left %v, %v", entries, err)
	}
	content, _ := os.ReadFile(filepath.Join(dir, artifact.ManifestFile))
	if bytes.Contains(content, []byte("previous")) {
		t.Error("a finished replacement still mentions the table that it replaced")
	}
}

// A replacement that ends after the manifest leaves the old table in force, and
// so does a second one that ends there too.
func TestInterruptedReplacement(t *testing.T) {
	dir := t.TempDir()
	old, table := sample(t, Token), sample(t, Token)
	if err := old.Save(dir); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		if err := table.Add([]uint32{1, 2, 3}, []string{fmt.Sprint("new", round)}, nil); err != nil {
			t.Fatal(err)
		}
		m, _, err := table.prepare(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := kind.WriteManifest(dir, m); err != nil {
			t.Fatal(err)
		}
		got, err := Load(dir)
		if diff := cmp.Diff(old, must(t, got, err), unexported); diff != "" {
			t.Errorf("round %d: the old table differs:\n%.500s", round, diff)
		}
	}
	if err := table.Save(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if must(t, got, err).Version() != 4 {
		t.Errorf("version %d after the replacement", got.Version())
	}
}

func TestLoadSaysWhatIsWrong(t *testing.T) {
	edit := func(name string, change func([]byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, seal.Renew(change(content)), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(old, new string) func([]byte) []byte {
		return func(b []byte) []byte {
			if !bytes.Contains(b, []byte(old)) {
				panic("nothing to replace: " + old)
			}
			return bytes.Replace(b, []byte(old), []byte(new), 1)
		}
	}
	drop := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil func(*testing.T, string)
		want  string
	}{
		"truncated IDs":      {edit(ParquetFile, func(b []byte) []byte { return b[:len(b)-3] }), "ids.parquet is truncated: it has"},
		"longer IDs":         {edit(ParquetFile, func(b []byte) []byte { return append(b, 0) }), "ids.parquet is damaged: its checksum"},
		"flipped bit":        {edit(ParquetFile, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "ids.parquet is damaged: its checksum"},
		"missing IDs":        {drop(ParquetFile), "ids.parquet is missing"},
		"no manifest":        {drop(artifact.ManifestFile), "is no table of IDs"},
		"truncated manifest": {edit(artifact.ManifestFile, func(b []byte) []byte { return b[:len(b)-3] }), "damaged: it is no JSON object"},
		"something else":     {edit(artifact.ManifestFile, replace(`"kind": "ids"`, `"kind": "pans"`)), `is no table of IDs but of kind "pans"`},
		"newer schema":       {edit(artifact.ManifestFile, replace(`"schema": 1`, `"schema": 2`)), "schema 2"},
		"no schema":          {edit(artifact.ManifestFile, replace(`"schema"`, `"scheme"`)), "no schema version"},
		"method":             {edit(artifact.ManifestFile, replace(`"token"`, `"luck"`)), `"luck" is unknown`},
		"another method":     {edit(artifact.ManifestFile, replace(`"token"`, `"reassign"`)), "3 levels"},
		"levels":             {edit(artifact.ManifestFile, replace(`"levels": 3`, `"levels": 2`)), "2 levels"},
		"version":            {edit(artifact.ManifestFile, replace(`"version": 2`, `"version": 3`)), "log of versions does not lead"},
		"log":                {edit(artifact.ManifestFile, replace(`"added": 1000`, `"added": 900`)), "entry 1 of its log"},
		"vocabulary":         {edit(artifact.ManifestFile, replace("12,", "0,")), "vocabulary of 0 at position 0"},
		"smaller vocabulary": {edit(artifact.ManifestFile, replace("12,", "7,")), "whose vocabulary is 7"},
		"file":               {edit(artifact.ManifestFile, replace(ParquetFile, "../ids.csv")), `"../ids.csv" makes no sense`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := sample(t, Token).Save(dir); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, dir)
			_, err := Load(dir)
			fails(t, err, c.want)
		})
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Rows that a checksum cannot vouch for, because someone wrote both.
func TestForgedContentIsRefused(t *testing.T) {
	row := func(item string, codes ...int32) idRecord { return idRecord{Item: item, Codes: codes} }
	one := int32(1)
	for want, rows := range map[string][]idRecord{
		"1 items, the manifest 2":           {row("a", 0, 0)},
		`both called "a"`:                   {row("a", 0, 0), row("a", 0, 1)},
		`"b" has token 0, expected 1`:       {row("a", 0, 0), row("b", 0, 0)},
		`"b" has token 1, expected 0`:       {row("a", 0, 0), row("b", 1, 1)},
		"code 4294967295 at position 0":     {row("a", 0, 0), row("b", -1, 0)},
		"row 0 has 1 codes, the manifest 2": {row("a", 0)},
		`the method "token"`:                {{"a", []int32{0, 0}, &one}},
		"item 0 has the name":               {row("", 0, 0), row("b", 0, 1)},
	} {
		table := &Table{resolution: Token, levels: 1, vocab: []int{2, 2}}
		var err error
		for _, r := range rows {
			if err == nil {
				err = table.append(r)
			}
		}
		if err == nil {
			err = table.verify(2)
		}
		fails(t, err, want)
	}
}

func TestDamagedParquetNeverPanics(t *testing.T) {
	small, err := Build([]uint32{0, 1, 1}, []int{2}, strings.Fields("a b c"), BuildOptions{})
	must(t, small, err)
	var out bytes.Buffer
	if err := encodeParquet(&out, small); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for at := range out.Len() {
		bad := slices.Clone(out.Bytes())
		bad[at] ^= 0x15
		table := &Table{resolution: Token, levels: 1, vocab: []int{2, 2}}
		if err := decodeParquet(bad, table); err != nil || table.verify(3) != nil {
			failed++
		}
	}
	if failed < out.Len()/4 {
		t.Errorf("only %d of %d damages were noticed", failed, out.Len())
	}
}

func FuzzManifest(f *testing.F) {
	dir := f.TempDir()
	if err := sample(f, Token).Save(dir); err != nil {
		f.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, artifact.ManifestFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte(`{"schema":1,"method":"reassign","levels":1,"vocab":[2],"previous":{}}`))
	f.Add([]byte(`{"schema":1,"kind":"ids","files":[{"name":"ids.parquet"}],"versions":[]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, artifact.ManifestFile), content, 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := readManifest(dir)
		if err != nil {
			return
		}
		if err := kind.WriteManifest(dir, m); err != nil {
			t.Fatalf("accepted a manifest that cannot be written: %v", err)
		}
		if _, err := readManifest(dir); err != nil {
			t.Fatalf("accepted a manifest but not its copy: %v", err)
		}
	})
}

func FuzzParquet(f *testing.F) {
	small, err := Build([]uint32{0, 1, 1}, []int{2}, strings.Fields("a b c"), BuildOptions{})
	must(f, small, err)
	var out bytes.Buffer
	if err := encodeParquet(&out, small); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, content []byte) {
		defer memorytest.Bound(t, memorytest.Most/2)()
		table := &Table{resolution: Token, levels: 1, vocab: []int{4, 3}}
		if decodeParquet(content, table) != nil || table.verify(table.Len()) != nil {
			return
		}
		var out bytes.Buffer
		if err := encodeParquet(&out, table); err != nil {
			t.Fatal(err)
		}
		again := &Table{resolution: Token, levels: 1, vocab: []int{4, 3}}
		if err := decodeParquet(out.Bytes(), again); err != nil || render(again) != render(table) {
			t.Errorf("the copy differs: %v", err)
		}
	})
}
