package catalogue

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/task"
)

const loggedItems = 40

// writeLog writes a log whose users stay in one of four groups of items. Test items are the marker if it is given.
func writeLog(t *testing.T, path string, test string) {
	t.Helper()
	random := rand.New(rand.NewPCG(5, 6))
	var log bytes.Buffer
	for user := range 60 {
		group, line := random.IntN(4), []string{fmt.Sprintf("u%d", user)}
		for range 8 {
			line = append(line, fmt.Sprint(1+group+4*random.IntN(loggedItems/4-1)))
		}
		if test != "" {
			line[len(line)-1] = test
		}
		fmt.Fprintln(&log, strings.Join(line, " "))
	}
	if err := os.WriteFile(path, log.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// makeLogged makes IDs of embeddings (if any) and a log, and returns the table and the vectors of its items.
func makeLogged(t *testing.T, dir, output, input, log string) (*Table, []byte) {
	t.Helper()
	o := Options{Sources: []Source{{Input: input, Log: LogFile{Path: log}}}, Output: filepath.Join(dir, output),
		Config: small(t, "rq", 2), Backend: "go"}
	if _, err := Make(t.Context(), o, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	table, err := Load(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := os.ReadFile(filepath.Join(o.Output, joinedVectors))
	if err != nil {
		t.Fatal(err)
	}
	return table, vectors
}

// A marker in place of all test items changes neither vectors nor IDs. (That validation items do not reach the factors is
// tested in package itemfactors; they choose the weight.)
func TestHeldOutItemsDoNotReachIDs(t *testing.T) {
	dir := t.TempDir()
	emb := filepath.Join(dir, "emb.npy")
	embeddings(t, emb, loggedItems, 6)
	tables, vectors := map[string]*Table{}, map[string][]byte{}
	for name, marker := range map[string]string{"plain": "", "test": "40"} {
		path := filepath.Join(dir, name+".txt")
		writeLog(t, path, marker)
		tables[name], vectors[name] = makeLogged(t, dir, name, emb, path)
		c := tables[name].Cooccurrence()
		if c == nil || c.Rank == 0 || c.Gamma == 0 || c.Users != 60 || c.Log != name+".txt" {
			t.Fatalf("%s: %+v", name, c)
		}
	}
	if !bytes.Equal(vectors["plain"], vectors["test"]) || !slices.Equal(tables["plain"].IDs(), tables["test"].IDs()) {
		t.Error("items held out for testing changed the vectors or the IDs")
	}
	if tables["plain"].Cooccurrence().Fingerprint == tables["test"].Cooccurrence().Fingerprint {
		t.Error("two logs have one fingerprint")
	}
	content, err := os.ReadFile(emb)
	if err != nil {
		t.Fatal(err)
	}
	if len(vectors["plain"]) <= len(content) {
		t.Error("the vectors hold no factors")
	}
}

func TestNewItemsHaveNoFactors(t *testing.T) {
	dir := t.TempDir()
	emb, log := filepath.Join(dir, "emb.npy"), filepath.Join(dir, "log.txt")
	embeddings(t, emb, loggedItems, 6)
	writeLog(t, log, "")
	table, _ := makeLogged(t, dir, "ids", emb, log)
	more := filepath.Join(dir, "more.npy")
	embeddings(t, more, 3, 6)
	ids := filepath.Join(dir, "ids")
	if _, err := Add(t.Context(), AddOptions{Dir: ids, Source: Source{Input: more}, Backend: "go"}, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	later, err := Load(ids)
	if err != nil || later.Len() != loggedItems+3 || later.Cooccurrence().Fingerprint != table.Cooccurrence().Fingerprint {
		t.Fatalf("%d items, %+v (%v)", later.Len(), later.Cooccurrence(), err)
	}
	wide := filepath.Join(dir, "wide.npy")
	embeddings(t, wide, 3, 7)
	_, err = Add(t.Context(), AddOptions{Dir: ids, Source: Source{Input: wide}, Backend: "go"}, task.Silent{})
	fails(t, err, "wide.npy has 7 dimensions, the tokenizer was trained on 6")
}

func TestLogAlone(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log.txt")
	writeLog(t, log, "")
	table, _ := makeLogged(t, dir, "ids", "", log)
	c := table.Cooccurrence()
	if !c.Alone || c.Gamma != 1 || c.Rank == 0 || table.Len() > loggedItems {
		t.Errorf("%d items, %+v", table.Len(), c)
	}
	// Users stay in a group, so most items share their first code with their group.
	same, pairs := [2]float64{}, [2]float64{}
	for a := range table.Len() {
		for b := range a {
			var x, y, kin int
			fmt.Sscan(table.Key(a), &x)
			fmt.Sscan(table.Key(b), &y)
			if x%4 == y%4 {
				kin = 1
			}
			pairs[kin]++
			if table.ID(a)[0] == table.ID(b)[0] {
				same[kin]++
			}
		}
	}
	if in, out := same[1]/pairs[1], same[0]/pairs[0]; in < 0.6 || out > 0.2 {
		t.Errorf("%.2f of the pairs of a group share the first code, %.2f of others", in, out)
	}
	more := filepath.Join(dir, "more.npy")
	embeddings(t, more, 3, 6)
	names := filepath.Join(dir, "names.csv")
	if err := os.WriteFile(names, []byte("id,title\nx,first\ny,second\nz,third\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Add(t.Context(), AddOptions{Dir: filepath.Join(dir, "ids"), Source: Source{Input: more, Items: names}, Backend: "go"},
		task.Silent{})
	fails(t, err, "was made from a log alone")
}

func TestLogsThatDoNotFit(t *testing.T) {
	dir := t.TempDir()
	emb, log, short := filepath.Join(dir, "emb.npy"), filepath.Join(dir, "log.txt"), filepath.Join(dir, "short.txt")
	embeddings(t, emb, 5, 6)
	writeLog(t, log, "")
	if err := os.WriteFile(short, []byte("a 1\nb 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	logged := func(input, log string) []Source { return []Source{{Input: input, Log: LogFile{Path: log}}} }
	config := small(t, "rq", 2)
	for want, o := range map[string]Options{
		"31 of the 36 items of " + log + " are not in the catalogue": {Sources: logged(emb, log)},
		"no two items follow each other in its training part":        {Sources: logged(emb, short)},
		"random codes ignore what items are like":                    {Sources: logged(emb, log), Random: true},
		"dense IDs and random codes ignore what items are like":      {Sources: logged(emb, log), Dense: true},
		"leave --log or --tokenizer out":                             {Sources: logged(emb, log), Tokenizer: "tok"},
		"leave --log or --union out":                                 {Sources: append(logged(emb, log), logged(emb, log)...), Union: true},
		"needs embeddings, titles or a log":                          {Sources: logged("", "")},
	} {
		o.Config, o.Output, o.Backend = config, filepath.Join(dir, "ids"), "go"
		_, err := Make(t.Context(), o, task.Silent{})
		fails(t, err, want)
		if _, err := os.Stat(o.Output); err == nil {
			t.Fatalf("%s: something was left", want)
		}
	}
}
