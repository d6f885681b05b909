package table_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/lab/table"
)

// records reads the lines of a file of results.
func records[T any](t *testing.T, name string) (all []T) {
	content, err := os.ReadFile(filepath.Join(results, name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var r T
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, r)
	}
	return all
}

// published is a table of a page of results.
type published struct {
	t    *testing.T
	text string
}

func page(t *testing.T, name string) published {
	content, err := os.ReadFile(filepath.Join(results, name))
	if err != nil {
		t.Fatal(err)
	}
	return published{t, string(content)}
}

// number is a cell of the page, without its marks, deviation and unit.
func (p published) number(heading, column string, begins ...string) float64 {
	row, err := table.FindRow(p.text, heading, begins...)
	if err != nil {
		p.t.Fatal(err)
	}
	return numberOf(p.t, row[column])
}

func numberOf(t *testing.T, cell string) float64 {
	x, err := strconv.ParseFloat(regexp.MustCompile(`\d+(\.\d+)?`).FindString(cell), 64)
	if err != nil {
		t.Fatalf("%q is no number", cell)
	}
	return x
}

// psnr is that of a picture run on faces with networks before the linear path, seed 1.
func psnr(t *testing.T, codes, levels string) float64 {
	for _, r := range records[struct {
		Data, Method, Flags, Commit string
		Seed                        int
		Scores                      struct{ PSNR float64 }
	}](t, "pictures.jsonl") {
		flags := r.Flags + " "
		if r.Data == "celeba-128" && r.Method == "grit" && r.Seed == 1 && r.Commit == "unknown" &&
			strings.Contains(flags, "--codes "+codes+" ") && strings.Contains(flags, "--levels ") == (levels != "1") &&
			(levels == "1" || strings.Contains(flags, "--levels "+levels+" ")) {
			return r.Scores.PSNR
		}
	}
	t.Fatalf("no run with %s codes and %s levels", codes, levels)
	return 0
}

// quotes are the sentences of README, guides and changelog with figures that were measured, made from their records.
func quotes(t *testing.T) map[string][]string {
	scaling := map[[2]any]float64{}
	for _, r := range records[struct {
		Method string
		Codes  int
		Held   struct {
			Error float64 `json:"relative_error"`
		}
	}](t, "scaling.jsonl") {
		scaling[[2]any{r.Method, r.Codes}] = r.Held.Error
	}
	apart := 0.0
	for _, codes := range []int{1 << 10, 1 << 12, 1 << 14, 1 << 16} {
		apart = max(apart, math.Abs(scaling[[2]any{"grit", codes}]/scaling[[2]any{"ema", codes}]-1))
	}
	var peers struct {
		Rows []struct {
			Name  string
			Ratio float64
		}
	}
	content, err := os.ReadFile(filepath.Join(results, "speed.json"))
	if err == nil {
		err = json.Unmarshal(content, &peers)
	}
	if err != nil {
		t.Fatal(err)
	}
	ratio := map[string]float64{}
	for _, r := range peers.Rows {
		name, _, _ := strings.Cut(r.Name, ",")
		ratio[name] = r.Ratio
	}
	gpu, engine := page(t, "gpu.md"), page(t, "engine.md")
	codes := func(k, levels string) float64 { return psnr(t, k, levels) }
	bits := page(t, "rate-distortion.md")
	var lpips, worse []float64
	more := 0.0
	for _, setting := range []string{"d8", "d8l2, 1 of 2 levels", "d8l2, 2 of 2 levels", "d8l4, 1 of 4 levels", "d8l4, 2 of 4 levels",
		"d8l4, 3 of 4 levels", "d8l4, 4 of 4 levels", "d4l2, 1 of 2 levels", "d4l2, 2 of 2 levels"} {
		of := func(heading string) float64 {
			row, err := table.FindRow(bits.text, heading, setting)
			if err != nil || strings.Contains(row["WebP"], "smallest") {
				return math.NaN()
			}
			return numberOf(t, row["gritvq"]) / numberOf(t, row["WebP"])
		}
		if x := of("## LPIPS"); x > 1 {
			worse = append(worse, x)
		} else {
			lpips = append(lpips, x)
		}
		if x := of("## PSNR (dB)"); x > more {
			more = x
		}
	}
	if len(worse) != 1 || len(lpips) != 8 {
		t.Errorf("bits at equal LPIPS: %v and %v", lpips, worse)
	}
	var speedup []float64
	for _, row := range regexp.MustCompile(`(?m)^\| .*(0\.\d\d) \|$`).FindAllStringSubmatch(engine.text, -1) {
		if strings.Contains(row[0], "gradients") || strings.Contains(row[0], "attention alone") { // parts of a training step
			speedup = append(speedup, numberOf(t, row[1]))
		}
	}
	conditions, affine, implicit := page(t, "conditions.md"), 0.0, 0.0
	for _, dim := range []string{"64", "128", "512"} {
		for _, beam := range []string{"1", "8", "16"} {
			affine = max(affine, conditions.number("## Encoding", "affine, 128", dim, beam))
			implicit = max(implicit, conditions.number("## Encoding", "implicit, 128", dim, beam))
		}
	}
	const starts = "## What a dual encoder starts from, and what it learns"
	started := page(t, "recommendation-cpu.md")
	recommended, compared := page(t, "recommendation.md"), page(t, "compare-beauty.md").text
	const union = "## 4 x 256 codes"
	vectors := page(t, "vectors.md")
	exact, err := eval.PSNR(make([]uint8, 3), make([]uint8, 3))
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]string{
		"README.md": {
			fmt.Sprintf("GRIT and EMA-VQ are within %.0f %% of each other", math.Ceil(100*apart)),
			fmt.Sprintf("a training step in %.2fx PyTorch's time and find nearest codes in %.2fx FAISS's",
				ratio["training step"], ratio["nearest code 16384 x 16384"]),
			fmt.Sprintf("network in %.2fx the time of", gpu.number("# The picture step on a GPU", "step", "gritvq, STE")/
				gpu.number("# The picture step on a GPU", "step", "PyTorch, `torch.compile`")),
			fmt.Sprintf("Beauty (recall@10 %.4f against %.4f)", started.number(starts, "Beauty", "trained from `auto`"),
				started.number(starts, "Beauty", "best reference, transitions")),
			fmt.Sprintf("the defaults leave an error of %.4f after four minutes on two cores, our residual k-means %.4f, "+
				"FAISS's LSQ with tuned settings %.4f",
				vectors.number(union, "all three", "GRIT-VQ"), vectors.number(union, "all three", "RQ"),
				vectors.number(union, "all three", "FAISS LSQ, λ 4, 50 x 16")),
		},
		"docs/compare.md": {
			fmt.Sprintf("[at most %.2f](pictures.md#scores) a picture", exact),
			"took " + regexp.MustCompile(`\d+ min \d+ s`).FindString(compared) + " and " +
				regexp.MustCompile(`\d+ MiB`).FindString(compared) + " on two cores",
		},
		"docs/pictures.md": {
			fmt.Sprintf("doubling GRIT's codes adds %.2f to %.2f dB (from 1,024 to 65,536 codes), "+
				"a second level of 1,024 codes %.2f dB, a third %.2f dB",
				(codes("4096", "1")-codes("1024", "1"))/2, (codes("65536", "1")-codes("16384", "1"))/2,
				codes("1024", "2")-codes("1024", "1"), codes("1024", "3")-codes("1024", "2")),
			fmt.Sprintf("need %.2f to %.2f of WebP's bits at equal LPIPS at eight of ten points, %.2f of them at one, "+
				"and up to %.1f times as many at equal PSNR",
				slices.Min(lpips), slices.Max(lpips), worse[0], more),
			fmt.Sprintf("an exact picture counts %.2f dB", exact),
		},
		"docs/quantizers.md": {
			fmt.Sprintf("up to %.0f times as long as without conditions if they are affine, up to %.0f times if they are implicit",
				math.Ceil(affine), math.Ceil(implicit)),
		},
		"docs/recommendation.md": {
			fmt.Sprintf("recall@10 of %.3f against %.3f", recommended.number("## Dual encoder, Beauty", "R@10", "GRIT-VQ"),
				recommended.number("## Generative, Beauty", "R@10", "GRIT-VQ")),
		},
		"CHANGELOG.md": {
			fmt.Sprintf("on 5,000 faces it used %.1f %% of 65,536", page(t, "pictures.md").number("### Codes used, training", "65,536", "GRIT-VQ")),
			fmt.Sprintf("training on two cores takes %.2f to %.2f of the time", slices.Min(speedup), slices.Max(speedup)),
			fmt.Sprintf("exact pictures score %.2f dB", exact),
			"1.1 million vectors", // the size of the data, in the name of the set
		},
	}
}

// versions are numbers of software.
var versions = regexp.MustCompile(`\b(Go|Python|PyTorch|NumPy|FAISS|CUDA|Debian|macOS|glibc|Linux|Windows|version|v)[ -]?\d+(\.\d+)+`)

// settled are figures that are not measurements: settings, definitions and levels of confidence.
var settled = map[string][]string{
	"docs/FORMAT.md":         {"x / 127.5 - 1", "127.5, 0, 255"},
	"docs/compare.md":        {"95 %", "0.5 % (0.02 dB)"},
	"docs/pictures.md":       {"(0.1 if", "(0.3) of", "at 0.8 the", "is 0.8 times", "95 %", "(0.5/255)²", "5 % is expected"},
	"docs/quantizers.md":     {"fewer than 1 %"},
	"docs/recommendation.md": {"0.05 for about twenty", "default of 0.1", "95 %"},
	"docs/vectors.md":        {"(10 times )"},
	"CHANGELOG.md":           {"(0.5/255)²", "fewer than 1 %", "20,000 times"},
	"README.md":              {"Apache-2.0"},
}

// Every figure with decimals, in percent, of time or of a ratio in README, guides and changelog is quoted from a record, is one of README's
// tables (see TestReadmeQuotesTheTables), or is known to be no measurement.
func TestFiguresHaveRecords(t *testing.T) {
	guides, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(guides) == 0 {
		t.Fatal(err)
	}
	quoted := quotes(t)
	for _, path := range append(guides, "../../README.md", "../../CHANGELOG.md") {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		text := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(string(content), "")
		if name == "README.md" {
			text = regexp.MustCompile(`(?m)^\|.*$`).ReplaceAllString(text, "")
		}
		text = strings.Join(strings.Fields(text), " ")
		for _, sentence := range quoted[name] {
			if !strings.Contains(text, sentence) {
				t.Errorf("%s does not say what was measured: %q", name, sentence)
			}
			text = strings.ReplaceAll(text, sentence, "")
		}
		text = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)").ReplaceAllString(text, "")
		text = versions.ReplaceAllString(text, "")
		for _, known := range settled[name] {
			text = strings.ReplaceAll(text, known, "")
		}
		for _, at := range regexp.MustCompile(`\d+\.\d+|\d+ ?(%|dB\b)|\d+ (hours|min|minutes|s|seconds|times)\b`).FindAllStringIndex(text, -1) {
			t.Errorf("%s: a figure without a record: ...%s...", name, text[max(0, at[0]-60):min(len(text), at[1]+30)])
		}
	}
}

// Records of pictures and recommenders name the commit and the settings that made them; the oldest say that these are unknown.
func TestRecordsNameTheirOrigin(t *testing.T) {
	for _, name := range []string{"pictures.jsonl", "recommendation.jsonl"} {
		for _, r := range records[struct {
			ID, Commit string
			Hash       string `json:"config_hash"`
		}](t, name) {
			if r.Commit == "" || r.Hash == "" {
				t.Errorf("%s: %s names no commit or no config_hash", name, r.ID)
			}
		}
	}
}
