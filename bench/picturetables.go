package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/report"
)

// pictureResults names the files of the picture results.
const pictureResults = "pictures"

// pictureTables adds the runs of files to those in dir and writes the tables and
// figures of all of them there. Runs that are not there yet are empty cells.
func pictureTables(files []string, dir string) error {
	page, err := openPage(dir, pictureResults, "-tables", "Tokenizers of pictures")
	if err != nil {
		return err
	}
	runs, err := readRunFiles[pictureRun](page.path(".jsonl"), files)
	if err != nil {
		return err
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
	drawn, err := page.draw(pictureCharts(runs))
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := writePictureTables(&text, runs, drawn); err != nil {
		return err
	}
	if err := storeLines(page.path(".jsonl"), runs); err != nil {
		return err
	}
	return page.write(text.String())
}

// methodNames are those of the literature.
var methodNames = map[string]string{"ste": "STE", "ema": "EMA-VQ", "nsvq": "NSVQ", "simvq": "SimVQ", "diveq": "DiVeQ", "fsq": "FSQ", "lfq": "LFQ",
	"rotation": "rotation trick", "grit": "GRIT-VQ"}

func displayName(method string) string { return cmp.Or(methodNames[method], method) }

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
	out.table(scoreTable(faces, withOthers(faceContestants, faces), pictureMeasures, displayName))
	out.settings(pictureSettings(faces))
	for _, set := range largeSets {
		chosen := largeRuns(runs, set.data)
		out.text(fmt.Sprintf("## (b) %s at 256 px, 16,384 codes\n", set.title))
		out.table(scoreTable(chosen, withOthers(largeContestants, chosen), pictureMeasures, displayName))
		out.settings(pictureSettings(chosen))
	}
	scaling := scalingRuns(runs)
	out.text("## (c) Number of codes, faces at 128 px\n")
	for _, m := range []pictureMeasure{psnr, lpips, usedTraining} {
		out.text("### " + strings.ToUpper(m.title[:1]) + m.title[1:] + "\n")
		out.table(scalingSweep(m).table(scaling))
		out.figure(scalingFile(m), m.title+" against the number of codes")
	}
	out.settings(pictureSettings(scaling))
	levels := levelRuns(runs)
	out.text(fmt.Sprintf("## (d) Residual levels of %s codes, faces at 128 px\n", report.Count(levelCodes)))
	out.table(levelTable(levels))
	out.settings(pictureSettings(levels))
	out.text("## (e) Codes in use over training, faces at 128 px\n\nSeed 1; of recent batches, as training counts them.\n")
	for _, f := range courseFigures {
		out.figure(f.file, f.title)
	}
	writeFailures(out, runs)
	return out.err
}

const legend = "Means over seeds ± standard deviations; **best**, and = what is tied with it: no further away than the larger of the two deviations (for a single seed, the\n" +
	"typical one of the table's other methods). PSNR, SSIM, LPIPS, Frechet distance and KID are of held-out pictures. *Used* is the share of the codes that some token chooses, of\n" +
	"training and of held-out pictures, with the tokens there are for each code; *dead* is the rest of the former. An empty cell was not measured yet.\n" +
	"Raw figures: [" + pictureResults + ".jsonl](" + pictureResults + ".jsonl).\n"

// pictureSettings says with which flags runs were trained.
func pictureSettings(runs []pictureRun) []setting {
	var list []setting
	for _, r := range runs {
		list = append(list, setting{displayName(r.Method), "gritvq train " + r.settings()})
	}
	return list
}
