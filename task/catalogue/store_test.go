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
	ranked := func(first int) Ranked { return nearby(12, func(item int) uint32 { return codes[3*(first+item)+2] }) }
	table, err := Build(codes[:6000], []int{12, 12, 12}, keys[:2000], BuildOptions{Resolve: method, Ranked: ranked(0), Tokenizer: "sha256:abc"})
	must(t, table, err)
	if err := table.Add(codes[6000:], keys[2000:], ranked(2000)); err != nil {
		t.Fatal(err)
	}
	return table
}

var unexported = cmp.AllowUnexported(Table{})

func TestSavedTablesRoundTrip(t *testing.T) {
	for _, method := range []Resolution{Token, Reassign} {
		for _, file := range []string{ParquetFile, JSONLFile} {
			want, dir := sample(t, method), filepath.Join(t.TempDir(), "deep", "ids")
			if err := want.Save(dir, file); err != nil {
				t.Fatal(err)
			}
			got, err := Load(dir)
			must(t, got, err)
			if diff := cmp.Diff(want, got, unexported); diff != "" {
				t.Errorf("%s in %s differs:\n%.500s", method, file, diff)
			}
			again := t.TempDir()
			if err := got.Save(again, file); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{file, ManifestFile} {
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
			if render(got) != render(want) || got.Version() != 3 {
				t.Error("the loaded table went on differently")
			}
		}
	}
	fails(t, sample(t, Token).Save(t.TempDir(), "ids.csv"), "ids.csv")
}

func TestReplacingATable(t *testing.T) {
	dir := t.TempDir()
	old := sample(t, Token)
	if err := old.Save(dir, JSONLFile); err != nil {
		t.Fatal(err)
	}
	table := sample(t, Token)
	if err := table.Add([]uint32{1, 2, 3}, []string{"new"}, nil); err != nil {
		t.Fatal(err)
	}
	if err := table.Save(dir, ParquetFile); err != nil {
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
	content, _ := os.ReadFile(filepath.Join(dir, ManifestFile))
	if bytes.Contains(content, []byte("previous")) {
		t.Error("a finished replacement still mentions what it replaced")
	}
}

// A replacement that ends after the manifest leaves the old table in force, and
// so does a second one that ends there too.
func TestInterruptedReplacement(t *testing.T) {
	for _, file := range []string{ParquetFile, JSONLFile} {
		dir := t.TempDir()
		old, table := sample(t, Token), sample(t, Token)
		if err := old.Save(dir, ParquetFile); err != nil {
			t.Fatal(err)
		}
		for round := range 2 {
			if err := table.Add([]uint32{1, 2, 3}, []string{fmt.Sprint("new", round)}, nil); err != nil {
				t.Fatal(err)
			}
			m, _, err := table.prepare(dir, file)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.write(dir); err != nil {
				t.Fatal(err)
			}
			got, err := Load(dir)
			if diff := cmp.Diff(old, must(t, got, err), unexported); diff != "" {
				t.Errorf("round %d: the old table differs:\n%.500s", round, diff)
			}
		}
		if err := table.Save(dir, file); err != nil {
			t.Fatal(err)
		}
		got, err := Load(dir)
		if must(t, got, err).Version() != 4 {
			t.Errorf("version %d after the replacement", got.Version())
		}
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
			if err := os.WriteFile(path, change(content), 0o644); err != nil {
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
		"longer IDs":         {edit(ParquetFile, func(b []byte) []byte { return append(b, 0) }), "ids.parquet is damaged: it has"},
		"flipped bit":        {edit(ParquetFile, func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "ids.parquet is damaged: its checksum"},
		"missing IDs":        {drop(ParquetFile), "ids.parquet is missing"},
		"no manifest":        {drop(ManifestFile), "is no table of IDs"},
		"truncated manifest": {edit(ManifestFile, func(b []byte) []byte { return b[:len(b)-3] }), "manifest.json is damaged: it is no JSON object"},
		"a tokenizer":        {edit(ManifestFile, replace(`"schema": 1`, `"schema": 1, "kind": "vectors"`)), `is no table of IDs: its manifest.json is of kind "vectors"`},
		"newer schema":       {edit(ManifestFile, replace(`"schema": 1`, `"schema": 2`)), "schema 2"},
		"no schema":          {edit(ManifestFile, replace(`"schema"`, `"scheme"`)), "no schema version"},
		"method":             {edit(ManifestFile, replace(`"token"`, `"luck"`)), `"luck" is unknown`},
		"another method":     {edit(ManifestFile, replace(`"token"`, `"reassign"`)), "3 levels"},
		"levels":             {edit(ManifestFile, replace(`"levels": 3`, `"levels": 2`)), "2 levels"},
		"version":            {edit(ManifestFile, replace(`"version": 2`, `"version": 3`)), "log of versions does not lead"},
		"log":                {edit(ManifestFile, replace(`"added": 1000`, `"added": 900`)), "entry 1 of its log"},
		"vocabulary":         {edit(ManifestFile, replace("12,", "0,")), "vocabulary of 0 at position 0"},
		"smaller vocabulary": {edit(ManifestFile, replace("12,", "7,")), "whose vocabulary is 7"},
		"file":               {edit(ManifestFile, replace(ParquetFile, "../ids.csv")), `"../ids.csv" makes no sense`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := sample(t, Token).Save(dir, ParquetFile); err != nil {
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

// Content that a checksum cannot vouch for, because someone wrote both.
func TestForgedContentIsRefused(t *testing.T) {
	for content, want := range map[string]string{
		`{"item":"a","codes":[0,0]}` + "\n":                                       "1 items, the manifest 2",
		`{"item":"a","codes":[0,0]}` + "\n" + `{"item":"a","codes":[0,1]}` + "\n": `both called "a"`,
		`{"item":"a","codes":[0,0]}` + "\n" + `{"item":"b","codes":[0,0]}` + "\n": `"b" has token 0, expected 1`,
		`{"item":"a","codes":[0,0]}` + "\n" + `{"item":"b","codes":[1,1]}` + "\n": `"b" has token 1, expected 0`,
		`{"item":"a","codes":[0,0]}` + "\n" + `{"item":"b","codes":[-1,0]}`:       `code 4294967295 at position 0`,
		`{"item":"a","codes":[0]}` + "\n":                                         "row 0 has 1 codes, the manifest 2",
		`{"item":"a","codes":[0,0],"original":1}` + "\n":                          `the method "token"`,
		`{"item":"","codes":[0,0]}` + "\n" + `{"item":"b","codes":[0,1]}` + "\n":  "item 0 has the name",
		"[]\n": "row 0 is no line like",
	} {
		table := &Table{method: Token, levels: 1, vocab: []int{2, 2}}
		err := decodeJSONL([]byte(content), table)
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
		table := &Table{method: Token, levels: 1, vocab: []int{2, 2}}
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
	if err := sample(f, Token).Save(dir, ""); err != nil {
		f.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, ManifestFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte(`{"schema":1,"method":"reassign","levels":1,"vocab":[2],"previous":{}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := parseManifest(content)
		if err != nil {
			return
		}
		dir := t.TempDir()
		if err := m.write(dir); err != nil {
			t.Fatalf("accepted a manifest that cannot be written: %v", err)
		}
		if _, err := readManifest(dir); err != nil {
			t.Fatalf("accepted a manifest but not its copy: %v", err)
		}
	})
}

func FuzzJSONL(f *testing.F) {
	f.Add([]byte(`{"item":"a","codes":[0,0]}` + "\n" + `{"item":"b","codes":[1,0]}`))
	f.Add([]byte(`{"item":"a","codes":[0,-1],"original":null}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		table := &Table{method: Token, levels: 1, vocab: []int{4, 3}}
		if decodeJSONL(content, table) != nil || table.verify(table.Len()) != nil {
			return
		}
		var out bytes.Buffer
		if err := encodeJSONL(&out, table); err != nil {
			t.Fatal(err)
		}
		again := &Table{method: Token, levels: 1, vocab: []int{4, 3}}
		if err := decodeJSONL(out.Bytes(), again); err != nil || render(again) != render(table) {
			t.Errorf("the copy differs: %v", err)
		}
	})
}
