package eval

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sampleRanking has awkward names and lists of several lengths.
func sampleRanking(t testing.TB) *Ranking {
	t.Helper()
	r := NewRanking()
	for u := range 700 { // more than one buffer of rows
		ranks := []int{u % 23}
		for len(ranks) < 1+u%3 {
			ranks = append(ranks, 100+len(ranks))
		}
		if err := r.Add(fmt.Sprintf("user %d, \"ü\"", u), ranks...); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestRankingFilesRoundTrip(t *testing.T) {
	want := sampleRanking(t)
	for _, name := range []string{"scores.csv", "scores.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		if err := WriteRanking(path, want, 5, 10); err != nil {
			t.Fatal(err)
		}
		got, err := ReadRanking(path)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.users, want.users) || !slices.Equal(got.ranks, want.ranks) || !slices.Equal(got.offsets, want.offsets) {
			t.Errorf("%s gave back something else", name)
		}
	}
}

func TestRankingCSVIsReadable(t *testing.T) {
	r := NewRanking()
	if err := r.Add("anna", 3); err != nil {
		t.Fatal(err)
	}
	if err := r.Add("ben", 0, 1); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scores.csv")
	if err := WriteRanking(path, r, 5); err != nil {
		t.Fatal(err)
	}
	content, _ := os.ReadFile(path)
	want := "user,ranks,recall@5,hit@5,ndcg@5,mrr@5\nanna,3,1,1,0.5,0.333333333\nben,0 1,0.5,1,0.613147193,1\n"
	if string(content) != want {
		t.Errorf("got %q", content)
	}
}

func TestRankingFilesThatAreWrong(t *testing.T) {
	for content, want := range map[string]string{
		"":                                    "no header",
		"user,rank\n":                         `lacks the column "user" or "ranks"`,
		"user,ranks\nu,x\n":                   `row 2 has "x" for a rank`,
		"user,ranks\nu,1\nu,2\n":              `row 3: user "u" is ranked twice`,
		"user,ranks\nu,\n":                    "no relevant item",
		"user,ranks,recall@5\nu,2,0\n":        "recall@5 0, the ranks give 1",
		"user,ranks,recall@5\nu,2,NaN\n":      "the ranks give 1",
		"user,ranks,recall@5\nu,2,much\n":     `"much" for recall@5`,
		"user,ranks\nu,1,2\n":                 "wrong number of fields",
		"user,ranks\nu,99999999999\n":         "99999999999",
		"user,ranks,other\nu,1,recall\nv,1\n": "wrong number of fields",
	} {
		path := filepath.Join(t.TempDir(), "scores.csv")
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := ReadRanking(path)
		fails(t, err, want)
		if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path)) {
			t.Errorf("%q is not one sentence with the file", err)
		}
	}
	fails(t, WriteRanking("scores.txt", NewRanking()), ".parquet or .csv")
	fails(t, WriteRanking("scores.csv", NewRanking(), 5, 5), "repeated")
	fails(t, WriteRanking("scores.csv", NewRanking(), 0), "cutoff 0")
	_, err := ReadRanking("scores.txt")
	fails(t, err, ".parquet or .csv")
	_, err = ReadRanking(filepath.Join(t.TempDir(), "none.csv"))
	fails(t, err, "cannot read the ranking")
	fails(t, err, "none.csv does not exist; check the path")
}

// Whatever byte of a parquet file is damaged, reading must return; the scores
// beside the ranks catch damage that the format does not.
func TestDamagedRankingParquet(t *testing.T) {
	r := NewRanking()
	for u := range 20 {
		if err := r.Add(fmt.Sprint("user", u), 1+u); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "scores.parquet")
	if err := WriteRanking(path, r, 10); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for at := 0; at < len(good); at++ {
		bad := slices.Clone(good)
		bad[at] ^= 0x11
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRanking(path); err != nil {
			failed++
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has several lines", err)
			}
		}
	}
	if failed < len(good)/2 {
		t.Errorf("only %d of %d damages were noticed", failed, len(good))
	}
	if err := os.WriteFile(path, good[:len(good)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = ReadRanking(path)
	fails(t, err, "damaged")
}

func FuzzRankingCSV(f *testing.F) {
	f.Add([]byte("user,ranks,recall@5,ndcg@10\nanna,3,1,0.5\nben,0 1,0.5,0.6131471927654584\n"))
	f.Add([]byte("ranks,user\n1,\"a\nb\"\n"))
	f.Add([]byte("user,ranks,recall@99999999999999999999\nu,1,1\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := parseRankingCSV(bytes.NewReader(content))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := encodeRankingCSV(&out, r, rankColumns([]int{5})); err != nil {
			t.Fatal(err)
		}
		again, err := parseRankingCSV(&out)
		if err != nil {
			t.Fatalf("accepted a table but not its copy: %v", err)
		}
		if !slices.Equal(again.ranks, r.ranks) || !slices.Equal(again.offsets, r.offsets) {
			t.Error("the copy differs")
		}
	})
}
