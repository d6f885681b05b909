package catalogue_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/catalogue"
	"github.com/gritvq/gritvq/task/recommend"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/train/vqtrain"
)

const movies = 40

// movieLens writes a small catalogue and log in the layout of MovieLens-1M:
// numbers with gaps, titles in Latin-1, movies that nobody saw, and embeddings
// in the order of the file.
func movieLens(t *testing.T, dir string) catalogue.Source {
	t.Helper()
	var list, log bytes.Buffer
	for i := range movies {
		fmt.Fprintf(&list, "%d::Mis\xe9rables, Les %d (1995)::Drama|Musical\r\n", 3*i+1, i)
	}
	for user := range 12 {
		fmt.Fprint(&log, user+1)
		for step := range 6 {
			fmt.Fprintf(&log, " %d", 3*((7*user+5*step)%(movies-4))+1)
		}
		fmt.Fprintln(&log)
	}
	source := catalogue.Source{Input: filepath.Join(dir, "emb.npy"), Items: filepath.Join(dir, "movies.dat")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{source.Items: list.Bytes(), filepath.Join(dir, "sequences.txt"): log.Bytes()} {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const dim = 8
	w, err := vectors.Create(source.Input, dim, movies)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, movies*dim)
	for i := range values {
		values[i] = float32(math.Sin(float64(i * i)))
	}
	if err := w.WriteRows(values); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return source
}

// makeIDs trains a tokenizer of 2 x 4 codes.
func makeIDs(t *testing.T, output string, sources ...catalogue.Source) *catalogue.Result {
	t.Helper()
	c, err := vqtrain.Default("grit")
	if err != nil {
		t.Fatal(err)
	}
	preset := c
	catalogue.Defaults(&c)
	c.Quantizer.Codes, c.Quantizer.Levels, c.Model.Hidden, c.Model.Dim, c.Train.Steps = 4, 2, nil, 0, 5
	tokenize.FitToSize(&c, preset, nil)
	r, err := catalogue.Make(t.Context(), catalogue.Options{Sources: sources, Output: output, Config: c, Union: len(sources) > 1,
		Backend: "go"}, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// checkMovies looks items up by their names and by their IDs.
func checkMovies(t *testing.T, dir string) *catalogue.Catalogue {
	t.Helper()
	c, err := catalogue.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for row := range movies { // in the order of the file
		key := fmt.Sprint(3*row + 1)
		if found := slices.Collect(c.Under(c.ID(row))); !slices.Equal(found, []int{row}) {
			t.Errorf("the ID of movie %s stands for %v, not for %d", key, found, row)
		}
		if at, ok := c.Row(key); !ok || at != row {
			t.Errorf("movie %s is at row %d, not at %d", key, at, row)
		}
		if title := c.Title(key); title != fmt.Sprintf("Misérables, Les %d (1995)", row) {
			t.Errorf("movie %s is called %q", key, title)
		}
	}
	return c
}

// checkLog reads the log against a table.
func checkLog(t *testing.T, dir string, table *catalogue.Table) {
	t.Helper()
	log, err := interactions.Open(t.Context(), filepath.Join(dir, "sequences.txt"), interactions.Options{MinUser: 2, MinItem: 2})
	if err != nil {
		t.Fatal(err)
	}
	if s := log.Stats(); s.Users != 12 || s.Items >= movies {
		t.Errorf("%+v", s)
	}
	if _, err := recommend.FromLog(log, table); err != nil {
		t.Error(err)
	}
}

func TestIDsOfMovieLens(t *testing.T) {
	dir := t.TempDir()
	ids := filepath.Join(dir, "ids")
	makeIDs(t, ids, movieLens(t, dir))
	checkLog(t, dir, checkMovies(t, ids).Table)
}

// A union keeps items of the same name apart, and one of its catalogues feeds a
// recommender.
func TestUnionOfMovieLens(t *testing.T) {
	dir := t.TempDir()
	ids, a, b := filepath.Join(dir, "ids"), filepath.Join(dir, "a"), filepath.Join(dir, "b")
	r := makeIDs(t, ids, movieLens(t, a), movieLens(t, b))
	first, second := checkMovies(t, filepath.Join(ids, "a")), checkMovies(t, filepath.Join(ids, "b"))
	// The catalogues are equal, so their items share all codes, pair by pair.
	if r.Union.Items != 2*movies || r.Union.Before.Distinct != first.Stats().Before.Distinct {
		t.Errorf("%+v", r.Union)
	}
	if !slices.Equal(first.IDs(), second.IDs()) {
		t.Error("one tokenizer gives equal items different IDs")
	}
	checkLog(t, b, second.Table)
}
