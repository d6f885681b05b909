package train

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// No run depends on its log: damaged lines are left out, and a resumed run writes behind the last whole one.
func TestDamagedLogs(t *testing.T) {
	path := filepath.Join(t.TempDir(), LogFile)
	write := func(content string) {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	steps := func() (list []int) {
		records, err := ReadLog[Record](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			list = append(list, r.Step)
		}
		return list
	}
	whole := `{"step":1}` + "\n" + `{"step":2}` + "\n" + `{"step":3}` + "\n"
	for content, want := range map[string][]int{
		whole:                      {1, 2, 3, 9},
		whole + `{"step":4`:        {1, 2, 3, 9},
		`{"step":1}` + "\n{\"st\n": {1, 9},
		"no such content":          {9},
		"":                         {9},
		`{"step":1}` + "\nnull\x00\n" + `{"step":3}` + "\n": {1, 3, 9},
	} {
		write(content)
		j, err := openJournal(path, int64(len(whole)+20))
		if err == nil {
			err = j.write(Record{Step: 9})
		}
		if err != nil {
			t.Fatal(err)
		}
		info, err := j.file.Stat()
		if err != nil || info.Size() != j.size {
			t.Errorf("%q: the log has %d bytes and says %d", content, info.Size(), j.size)
		}
		if err := j.file.Close(); err != nil {
			t.Fatal(err)
		}
		if got := steps(); !slices.Equal(got, want) {
			t.Errorf("%q: steps %v, want %v", content, got, want)
		}
	}
	for content, want := range map[string]bool{whole: true, "": true, "no such content": false, `{"other":1}` + "\n": false} {
		if write(content); IsLog(path) != want {
			t.Errorf("%q is a log: %v", content, !want)
		}
	}
	if IsLog(filepath.Join(t.TempDir(), "none")) {
		t.Error("a file that does not exist is a log")
	}
}
