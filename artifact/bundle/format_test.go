package bundle

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/interop"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// formatProgram returns the NumPy lines of docs/FORMAT.md of the given names, one after the other.
func formatProgram(t *testing.T, names ...string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	var program strings.Builder
	for _, name := range names {
		_, after, found := strings.Cut(string(page), "<!-- numpy: "+name+" -->\n```python\n")
		lines, _, ended := strings.Cut(after, "```")
		if !found || !ended {
			t.Fatalf("docs/FORMAT.md has no program %q", name)
		}
		program.WriteString(lines)
	}
	return program.String()
}

// writtenWith is the sample with changed settings and made-up weights, below dir/tok.
func writtenWith(t *testing.T, dir string, change func(*tokenizer.Spec)) *tokenizer.Runtime {
	t.Helper()
	b := sample(t)
	c := b.Tokenizer.Spec
	change(&c)
	var err error
	if b.Tokenizer, err = tokenizer.New(c, 5); err != nil {
		t.Fatal(err)
	}
	if err := b.SetConfig(settings{Seed: 1, Model: c.Model, Quantizer: c.Quantizer}); err != nil {
		t.Fatal(err)
	}
	b.Weights = b.Tokenizer.InitNetwork(1, tokenizer.Sample{Mean: []float64{1, 2, 3, 4, 5}, Variance: []float64{1, 2, 3, 4, 5}})
	if r := b.Weights["state/rotation"]; r != nil {
		b.Weights["state/rotation"] = weights.Normal(weights.Rand(1, "rotation"), 1, r.Shape...)
	}
	latents := weights.Normal(weights.Rand(1, "sample"), 1, 50, 4).Data
	set, err := b.Tokenizer.Quantizer.Init(vq.Latents{Rows: latents, N: 50, Dim: 4}, weights.Rand(1, "codes"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range set.Paths() {
		set[path] = weights.Normal(weights.Rand(2, path), 0.3, set[path].Shape...)
	}
	b.Weights.Merge("quantizer", set)
	backend, err := engine.Open(engine.Embedded)
	if err != nil {
		t.Fatal(err)
	}
	if b.Codebooks, err = tokenizer.Usable(backend, b.Tokenizer, b.Weights); err != nil {
		t.Fatal(err)
	}
	tok := filepath.Join(dir, "tok")
	if err := os.Mkdir(tok, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(tok, b); err != nil {
		t.Fatal(err)
	}
	r, err := b.Runtime(backend)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// writeCodes writes every combination of the codes of four positions.
func writeCodes(t *testing.T, path string) (rows []uint32) {
	t.Helper()
	for i := range 81 {
		rows = append(rows, uint32(i%3), uint32(i/3%3), uint32(i/9%3), uint32(i/27))
	}
	w, err := codes.Create(path, codes.Content{Vocab: []int{3, 3, 3, 3}, Rows: 81})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteRows(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func floats(content []byte) (values []float32) {
	for at := 0; at+4 <= len(content); at += 4 {
		values = append(values, math.Float32frombits(binary.LittleEndian.Uint32(content[at:])))
	}
	return values
}

func closeTo(t *testing.T, name string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: %d numbers, want %d", name, len(got), len(want))
	}
	for i := range got {
		if d := math.Abs(float64(got[i] - want[i])); d > 1e-5 {
			t.Fatalf("%s: number %d is %g, want %g", name, i, got[i], want[i])
		}
	}
}

const output = "import sys\nsys.stdout.buffer.write(x.astype('<f4').tobytes())\n"

// The ten lines of docs/FORMAT.md decode as the program does: product codes of several levels, with a network and with a
// rotation.
func TestInteropNumPyDecodesAsDocumented(t *testing.T) {
	python := interop.Find(t, "numpy")
	for name, change := range map[string]func(*tokenizer.Spec){
		"network": func(*tokenizer.Spec) {},
		"rotation": func(s *tokenizer.Spec) {
			s.Quantizer = vq.OPQ.Config()
			s.Model.Hidden, s.Model.Dim = nil, 4
			s.Quantizer.Codes, s.Quantizer.Levels, s.Quantizer.Parts = 3, 1, 4
		},
	} {
		dir := t.TempDir()
		r := writtenWith(t, dir, change)
		rows := writeCodes(t, filepath.Join(dir, "codes.npy"))
		want, err := r.Decode(t.Context(), rows, 81, 4)
		if err != nil {
			t.Fatal(err)
		}
		closeTo(t, name, floats(python.Run(t, dir, formatProgram(t, "read", "decode")+output)), want.Values)
	}
}

// The documented search finds the codes of --beam 1.
func TestInteropNumPyFindsTheNearestCodes(t *testing.T) {
	python, dir := interop.Find(t, "numpy"), t.TempDir()
	r := writtenWith(t, dir, func(*tokenizer.Spec) {})
	z := weights.Normal(weights.Rand(3, "z"), 0.3, 60, 4).Data
	want, err := r.Assign(t.Context(), z, tokenizer.Cells{N: 60, Height: 1, Width: 1}, tokenizer.Options{Beam: 1})
	if err != nil {
		t.Fatal(err)
	}
	program := formatProgram(t, "read", "encode") + fmt.Sprintf(`
z = np.array(%s).reshape(60, 4)
found = []
for part in range(2):
    left = z[:, 2 * part:2 * part + 2]
    for level in range(2):
        book = t[f"codebook/{2 * part + level}"]
        found.append(nearest(left, book))
        left = left - book[found[-1]]
x = np.stack(found, axis=1)
`, literal(z)) + output
	got := floats(python.Run(t, dir, program))
	if len(got) != len(want) {
		t.Fatalf("%d codes, want %d", len(got), len(want))
	}
	for i := range got {
		if uint32(got[i]) != want[i] {
			t.Errorf("code %d of row %d is %g, want %d", i%4, i/4, got[i], want[i])
		}
	}
}

// The documented vectors of codes that depend on earlier levels are those of the program.
func TestInteropNumPyVectorsOfConditionalLevels(t *testing.T) {
	python := interop.Find(t, "numpy")
	for name, change := range map[string]func(*vq.Config){
		"affine":   func(c *vq.Config) { c.Transform.Levels = "affine" },
		"implicit": func(c *vq.Config) { c.Transform.Levels, c.Transform.Blocks = "implicit", 2 },
		"qinco": func(c *vq.Config) {
			*c = vq.QINCo.Config()
			c.Codes, c.Levels, c.Parts, c.Transform.Candidates = 3, 2, 2, 3
		},
	} {
		dir := t.TempDir()
		r := writtenWith(t, dir, func(s *tokenizer.Spec) { change(&s.Quantizer) })
		rows := writeCodes(t, filepath.Join(dir, "codes.npy"))
		want, err := r.LookUp(t.Context(), rows, tokenizer.Cells{N: 81, Height: 1, Width: 1}, 4)
		if err != nil {
			t.Fatal(err)
		}
		program := formatProgram(t, "read", "conditional") + `
codes = np.load("codes.npy")
parts = []
for part in range(2):
    sent = t[f"codebook/{2 * part}"][codes[:, 2 * part]]
    c = t[f"codebook/{2 * part + 1}"][codes[:, 2 * part + 1]]
    parts.append(sent + vectors(c, sent, f"weights/quantizer/part{part}/level1/condition/"))
x = np.concatenate(parts, axis=1)
` + output
		closeTo(t, name, floats(python.Run(t, dir, program)), want)
	}
}

// literal writes values as a Python list.
func literal(values []float32) string {
	var b strings.Builder
	for _, x := range values {
		fmt.Fprintf(&b, "%v,", x)
	}
	return "[" + b.String() + "]"
}
