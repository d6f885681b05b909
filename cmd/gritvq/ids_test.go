package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend"
)

// movieLens writes a small catalogue and log in the layout of MovieLens-1M:
// numbers with gaps, titles in Latin-1, movies that nobody saw, and embeddings
// in the order of the file.
func movieLens(t *testing.T, dir string) {
	t.Helper()
	var movies bytes.Buffer
	const count = 40
	for i := range count {
		fmt.Fprintf(&movies, "%d::Mis\xe9rables, Les %d (1995)::Drama|Musical\r\n", 3*i+1, i)
	}
	var log bytes.Buffer
	for user := range 12 {
		fmt.Fprint(&log, user+1)
		for step := range 6 {
			fmt.Fprintf(&log, " %d", 3*((7*user+5*step)%(count-4))+1)
		}
		fmt.Fprintln(&log)
	}
	for name, content := range map[string][]byte{"movies.dat": movies.Bytes(), "sequences.txt": log.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeVectors([]string{filepath.Join(dir, "emb.npy"), fmt.Sprint(count), "8"}); err != nil {
		t.Fatal(err)
	}
}

// run executes a command line as the program does, and fails the test unless it
// succeeds.
func run(t *testing.T, line ...string) string {
	t.Helper()
	var out, errors bytes.Buffer
	if code := cli.Execute(line, &cli.Streams{Out: &out, Err: &errors}, newRootCommand); code != cli.ExitOK {
		t.Fatalf("gritvq %s: exit %d\n%s", strings.Join(line, " "), code, errors.String())
	}
	return out.String()
}

func TestIDsOfMovieLens(t *testing.T) {
	dir := t.TempDir()
	movieLens(t, dir)
	ids := filepath.Join(dir, "ids")
	run(t, "ids", filepath.Join(dir, "emb.npy"), "--items", filepath.Join(dir, "movies.dat"), "-o", ids, "--codes", "4", "--levels", "2", "--hidden", "none", "--steps", "5")
	table, err := catalogue.Load(ids)
	if err != nil {
		t.Fatal(err)
	}
	items, err := interactions.ReadItems(t.Context(), filepath.Join(ids, catalogue.ItemsFile))
	if err != nil {
		t.Fatal(err)
	}
	for row := range 40 { // item to ID to item, in the order of the file
		key := fmt.Sprint(3*row + 1)
		if at, ok := table.Row(key); !ok || at != row || !slices.Equal(table.Find(table.ID(row)), []int{row}) {
			t.Errorf("movie %s is at row %d, its ID stands for %v", key, at, table.Find(table.ID(row)))
		}
		if want := fmt.Sprintf("Misérables, Les %d (1995)", row); items.Items[row].ID != key || items.Items[row].Title != want {
			t.Errorf("%+v, want %q", items.Items[row], want)
		}
	}
	log, err := interactions.Open(t.Context(), filepath.Join(dir, "sequences.txt"), interactions.Options{MinUser: 2, MinItem: 2})
	if err != nil {
		t.Fatal(err)
	}
	if s := log.Stats(); s.Users != 12 || s.Items >= 40 {
		t.Errorf("%+v", s)
	}
	if _, err := recommend.FromLog(log, table); err != nil {
		t.Error(err)
	}
}

// A union keeps items of the same name apart, and one of its catalogues feeds a
// recommender.
func TestUnionRoundTrip(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		movieLens(t, filepath.Join(dir, name))
	}
	in := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	ids := in("ids")
	run(t, "ids", in("a", "emb.npy"), in("b", "emb.npy"), "--items", in("a", "movies.dat"), "--items", in("b", "movies.dat"), "-o", ids, "--codes", "4", "--levels", "2", "--hidden", "none", "--steps", "5")
	var tables []*catalogue.Table
	for _, name := range []string{"a", "b"} {
		table, err := catalogue.Load(filepath.Join(ids, name))
		if err != nil {
			t.Fatal(err)
		}
		for row := range table.Len() {
			if at, ok := table.Row(table.Key(row)); !ok || at != row || !slices.Equal(table.Find(table.ID(row)), []int{row}) {
				t.Fatalf("%s: row %d does not come back", name, row)
			}
		}
		tables = append(tables, table)
	}
	// The catalogues are equal, so their items share all codes, pair by pair.
	for row := range 40 {
		if !slices.Equal(tables[0].ID(row), tables[1].ID(row)) {
			t.Errorf("one tokenizer gives item %d two IDs: %v and %v", row, tables[0].ID(row), tables[1].ID(row))
		}
	}
	run(t, "recommend", "train", filepath.Join(ids, "b"), in("b", "sequences.txt"), "-o", in("rec"), "--steps", "2", "--batch", "4",
		"--set", "model.layers=1", "--set", "model.width=8", "--set", "model.feed_forward=8", "--set", "model.heads=1", "--set", "model.head_dim=8", "--set", "model.history=3")
}
