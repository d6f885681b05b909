package prior

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gritvq/gritvq/internal/usage"
)

func TestLabels(t *testing.T) {
	dir := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(dir, "labels")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	labels, err := ReadLabels(file("a/one.jpg\tred\n\n two , with comma.png,blue \nthree\tsea green\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := labels.of([]string{"a/one", "two , with comma", "deep/three"})
	if want := []string{"red", "blue", "sea green"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("classes %q, %v, want %q", got, err, want)
	}
	folders, err := ReadLabels(Folders)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := folders.of([]string{"cat/x/1", "dog/2"}); err != nil || !slices.Equal(got, []string{"cat", "dog"}) {
		t.Errorf("classes %q, %v", got, err)
	}
	if got := classNames([]string{"dog", "cat", "dog"}); !slices.Equal(got, []string{"cat", "dog"}) {
		t.Errorf("names %q", got)
	}
	_, err = labels.of([]string{"one", "four", "five"})
	refused(t, err, "has no class for 3 pictures, such as one; add a line for each")
	_, err = folders.of([]string{"cat/1", "2"})
	refused(t, err, "no subfolder holds 1 picture, such as 2; give --labels a file")
	for text, want := range map[string]string{
		"a\tred\nb\n":             "line 2 of ",
		"a,\n":                    "line 1 of ",
		"\n \n":                   "has no labels",
		"a.png,red\na.jpg,blue\n": "a.jpg is of class red and of class blue",
	} {
		_, err := ReadLabels(file(text))
		refused(t, err, want)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		_, err := ReadLabels(path)
		if _, misused := errors.AsType[usage.Error](err); !misused {
			t.Errorf("%s: %v is no misuse", path, err)
		}
	}
}

// A class all of whose pictures are held out, or that is none, is refused.
func TestEmptyClasses(t *testing.T) {
	rows := writeRows(t, grammar()[:4], 5)
	held := writeRows(t, grammar()[4:5], 5)
	labels := filepath.Join(t.TempDir(), "labels.csv")
	for i, c := range []struct{ text, want string }{
		{"0,a\n1,a\n2,b\n3,b\nheld,c\n", `class "c" is empty: none of its pictures is left to learn from`},
		{"0,a\n1,a\n2,b\n3,\nheld,a\n", "line 4 of "},
	} {
		for name, content := range map[string]string{labels: c.text, held[:len(held)-4] + ".keys": "held\n"} {
			if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		dir := filepath.Join(t.TempDir(), "prior")
		_, err := tryTrain(t.Context(), TrainOptions{Dir: dir, Source: Source{Codes: rows, Held: held, Labels: labels}, Settings: small(2)}, nil)
		refused(t, err, c.want)
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("case %d: the directory was left behind", i)
		}
	}
}
