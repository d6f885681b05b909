package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/report"
)

// The files of the picture results.
const (
	pictureRunsFile   = "pictures.jsonl"
	pictureTablesFile = "pictures.md"
)

// generatedMark is where the generated part of the page begins; what people
// wrote above it is kept.
const generatedMark = "<!-- made by bench -tables: what follows is replaced -->"

const defaultHead = "# Tokenizers of pictures\n\n"

// pictureTables adds the runs of files to those in dir and writes the tables and
// figures of all of them there. Runs that are not there yet are empty cells.
func pictureTables(files []string, dir string) error {
	store := filepath.Join(dir, pictureRunsFile)
	runs, err := readRunFiles(store, files)
	if err != nil {
		return err
	}
	page := filepath.Join(dir, pictureTablesFile)
	before, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	head, _, marked := strings.Cut(string(before), generatedMark)
	if len(before) == 0 {
		head = defaultHead
	} else if !marked {
		return fmt.Errorf("%s was not made by -tables; put the line %q where the tables are to be, or choose another -out", page, generatedMark)
	}
	if err := checkDistinct(runs); err != nil {
		return err
	}
	if unused := unplaced(runs); len(unused) > 0 {
		fmt.Fprintf(os.Stderr, "bench: in no table: %s\n", strings.Join(unused, ", "))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	drawn, err := writeFigures(dir, runs)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := writePictureTables(&text, runs, drawn); err != nil {
		return err
	}
	if err := storeRuns(store, runs); err != nil {
		return err
	}
	return atomicfile.Write(page, func(w io.Writer) error {
		_, err := io.WriteString(w, head+generatedMark+"\n\n"+text.String())
		return err
	})
}

// contestant is a row of a table: a method and the seeds it is to have.
type contestant struct {
	method string
	seeds  int
}

// methodNames are those of the literature.
var methodNames = map[string]string{"ste": "STE", "ema": "EMA-VQ", "nsvq": "NSVQ", "simvq": "SimVQ", "diveq": "DiVeQ", "fsq": "FSQ", "lfq": "LFQ",
	"rotation": "rotation trick", "grit": "GRIT-VQ"}

func displayName(method string) string { return cmp.Or(methodNames[method], method) }

// once lists methods of which one seed is planned.
func once(methods ...string) []contestant {
	var rows []contestant
	for _, m := range methods {
		rows = append(rows, contestant{m, 1})
	}
	return rows
}

// Who takes part.
var (
	faceContestants    = []contestant{{"ste", 1}, {"ema", 3}, {"nsvq", 1}, {"simvq", 3}, {"diveq", 1}, {"fsq", 3}, {"lfq", 1}, {"rotation", 1}, {"grit", 3}}
	largeContestants   = once("ema", "simvq", "diveq", "fsq", "grit")
	scalingContestants = once("ema", "diveq", "simvq", "grit")
	levelContestants   = once("diveq", "grit")
)

// Sizes of code that are compared.
var (
	scalingCodes = []int{1 << 10, 1 << 12, 1 << 14, 1 << 16}
	levelCounts  = []int{1, 2, 3}
)

const levelCodes = 1024 // of a level

// faceData is the set that most tables are drawn on.
const faceData = "celeba-128"

// ofTables selects the runs on a set that were made for some tables, one of
// every method, size and seed.
func ofTables(runs []pictureRun, letters, data string, more func(pictureRun) bool) []pictureRun {
	var chosen []pictureRun
	taken := map[string]bool{}
	for _, r := range runs {
		if r.Failed == "" && r.Data == data && strings.Contains(letters, r.table()) && more(r) && !taken[r.cell()] {
			chosen = append(chosen, r)
			taken[r.cell()] = true
		}
	}
	return chosen
}

// The runs of each table. Where sizes are compared, runs of other tables with
// the same network and data fill the size they have.
func faceRuns(runs []pictureRun) []pictureRun {
	return ofTables(runs, "a", faceData, func(r pictureRun) bool { return r.codes() == 4096 && r.levels() == 1 })
}

func largeRuns(runs []pictureRun, data string) []pictureRun {
	return ofTables(runs, "b", data, func(r pictureRun) bool { return r.codes() == 16384 && r.levels() == 1 })
}

func scalingRuns(runs []pictureRun) []pictureRun {
	return ofTables(runs, "ac", faceData, func(r pictureRun) bool { return r.levels() == 1 && slices.Contains(scalingCodes, r.codes()) })
}

func levelRuns(runs []pictureRun) []pictureRun {
	return ofTables(runs, "cd", faceData, func(r pictureRun) bool { return r.codes() == levelCodes && slices.Contains(levelCounts, r.levels()) })
}

// checkDistinct refuses two runs of the same cell and seed with other settings:
// a table could show only one.
func checkDistinct(runs []pictureRun) error {
	seen := map[string]pictureRun{}
	for _, r := range runs {
		if r.Failed != "" || !strings.Contains("abcd", r.table()) {
			continue
		}
		if other, twice := seen[r.cell()]; twice && other.settings() != r.settings() {
			return fmt.Errorf("%s and %s are %s with the same seed and size and other settings; let the identifier of one begin with a letter of no table", other.ID, r.ID, r.Method)
		}
		seen[r.cell()] = r
	}
	return nil
}

// unplaced names the runs that no table shows.
func unplaced(runs []pictureRun) []string {
	shown := map[string]bool{}
	for _, table := range [][]pictureRun{faceRuns(runs), largeRuns(runs, largeSets[0].data), largeRuns(runs, largeSets[1].data), scalingRuns(runs), levelRuns(runs)} {
		for _, r := range table {
			shown[r.ID] = true
		}
	}
	var names []string
	for _, r := range runs {
		if r.Failed == "" && !shown[r.ID] {
			names = append(names, r.ID)
		}
	}
	return names
}

// largeSets are those at 256 px.
var largeSets = []struct{ data, title string }{{"celebahq-256", "CelebA-HQ"}, {"imagenet-256", "ImageNet"}}

// writePictureTables writes the tables; drawn names the figures there are.
func writePictureTables(w io.Writer, runs []pictureRun, drawn map[string]bool) error {
	out := &tableWriter{to: w, drawn: drawn}
	out.text(legend)
	faces := faceRuns(runs)
	out.text("## (a) Faces at 128 px, 4,096 codes\n")
	out.table(scoreTable(faces, faceContestants))
	out.settings(faces)
	for _, set := range largeSets {
		chosen := largeRuns(runs, set.data)
		out.text(fmt.Sprintf("## (b) %s at 256 px, 16,384 codes\n", set.title))
		out.table(scoreTable(chosen, largeContestants))
		out.settings(chosen)
	}
	scaling := scalingRuns(runs)
	out.text("## (c) Number of codes, faces at 128 px\n")
	for _, m := range []pictureMeasure{psnr, lpips, usedTraining} {
		out.text("### " + strings.ToUpper(m.title[:1]) + m.title[1:] + "\n")
		out.table(scalingTable(scaling, m))
		out.figure(scalingFile(m), m.title+" against the number of codes")
	}
	out.settings(scaling)
	levels := levelRuns(runs)
	out.text(fmt.Sprintf("## (d) Residual levels of %s codes, faces at 128 px\n", report.Count(levelCodes)))
	out.table(levelTable(levels))
	out.settings(levels)
	out.text("## (e) Codes in use over training, faces at 128 px\n\nSeed 1; of recent batches, as training counts them.\n")
	for _, f := range courseFigures {
		out.figure(f.file, f.title)
	}
	out.failures(runs)
	return out.err
}

const legend = "Means over seeds ± standard deviations; **best**, and = what is tied with it: no further away than the larger of the two deviations (for a single seed, the\n" +
	"typical one of the table's other methods). PSNR, SSIM, LPIPS, Frechet distance and KID are of held-out pictures. *Used* is the share of the codes that some token chooses, of\n" +
	"training and of held-out pictures, with the tokens there are for each code; *dead* is the rest of the former. An empty cell was not measured yet.\n" +
	"Raw figures: [" + pictureRunsFile + "](" + pictureRunsFile + ").\n"

// tableWriter writes the parts of the page and keeps the first error.
type tableWriter struct {
	to    io.Writer
	drawn map[string]bool
	err   error
}

func (w *tableWriter) text(s string) {
	if w.err == nil {
		_, w.err = io.WriteString(w.to, s+"\n")
	}
}

func (w *tableWriter) table(t report.Table) {
	if w.err == nil {
		w.err = t.Markdown(w.to)
	}
	w.text("")
}

func (w *tableWriter) figure(file, title string) {
	if w.drawn[file] {
		w.text(fmt.Sprintf("![%s](%s)\n", title, file))
	} else {
		w.text(title + ": not measured yet.\n")
	}
}

// settings says with which flags the runs of a table were trained.
func (w *tableWriter) settings(runs []pictureRun) {
	methods := map[string][]string{}
	var order []string
	for _, r := range runs {
		key := r.settings()
		if methods[key] == nil {
			order = append(order, key)
		}
		if name := displayName(r.Method); !slices.Contains(methods[key], name) {
			methods[key] = append(methods[key], name)
		}
	}
	for _, key := range order {
		who := "all methods"
		if len(order) > 1 {
			who = strings.Join(methods[key], ", ")
		}
		w.text(fmt.Sprintf("* `gritvq train %s` (%s)", key, who))
	}
	if len(order) > 0 {
		w.text("")
	}
}

// failures lists the runs that have not succeeded.
func (w *tableWriter) failures(runs []pictureRun) {
	heading := false
	for _, r := range runs {
		if r.Failed == "" {
			continue
		}
		if !heading {
			w.text("## Runs that failed\n")
			heading = true
		}
		w.text(fmt.Sprintf("* %s after %s: %s", r.ID, seconds(r.Seconds), r.Failed))
	}
}
