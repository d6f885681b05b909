package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Names of any kind survive encode and decode; a file of names that cannot be written is refused before anything is.
func TestNamesOfPictures(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, name) }
	const pictures = "synthetic:scenes?images=4&size=16"
	runToEnd(t, []string{"train", pictures, "-o", at("tok"), "--size", "16", "--width", "8,16", "--dim", "4", "--codes", "4", "--steps", "2",
		"--batch", "2"})
	runToEnd(t, []string{"encode", at("tok"), pictures, "-o", at("first.npy")})
	runToEnd(t, []string{"decode", at("tok"), at("first.npy"), "-o", at("drawn")})
	odd := []string{"two\nlines.png", `"quoted".png`, "plain name.png", "tab\t.png"}
	drawn, err := os.ReadDir(at("drawn"))
	if err != nil || len(drawn) != len(odd) {
		t.Fatal(drawn, err)
	}
	for i, name := range odd {
		if err := os.Rename(filepath.Join(at("drawn"), drawn[i].Name()), filepath.Join(at("drawn"), name)); err != nil {
			t.Skipf("this system does not know such names: %v", err)
		}
	}
	runToEnd(t, []string{"encode", at("tok"), at("drawn"), "-o", at("odd.npy")})
	runToEnd(t, []string{"decode", at("tok"), at("odd.npy"), "-o", at("again")})
	for _, name := range odd {
		found, _ := filepath.Glob(filepath.Join(at("again"), strings.ReplaceAll(strings.TrimSuffix(name, ".png"), `"`, `?`)+"*"))
		if len(found) != 1 {
			t.Errorf("%q is not among the decoded pictures: %q", name, found)
		}
	}
	for names, problem := range map[string]string{
		"a\nb\na\nc\n": `picture 2 cannot be written as "a.png": picture 0 has the same name`,
		"a\nb\nc\n":    "it names 3 rows, ",
		"a\nb\nc\n" + strings.Repeat("d", 250) + "\n": "250 bytes are more than the 210 of a name",
		"a\nb\nc\n\"d\n": "line 4 is quoted wrongly",
	} {
		if err := os.WriteFile(at("odd.keys"), []byte(names), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, output := range []string{"new", "new.tar"} {
			said, err := exec.Command("gritvq", "decode", at("tok"), at("odd.npy"), "-o", at(output)).CombinedOutput()
			if err == nil || bytes.Count(said, []byte("\n")) != 1 || !strings.Contains(string(said), problem) {
				t.Errorf("%q: %v, %s", names, err, said)
			}
			if _, err := os.Stat(at(output)); err == nil {
				t.Errorf("%q: something was written", names)
			}
		}
	}
}
