package generation

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/vq"
)

// published is the paper's FID at B = 9 (tab:image-gen-fid-main), of CelebA-HQ and FFHQ at 256 px.
var published = []struct {
	method         string
	celebaHQ, ffhq float64
}{
	{"ste", 22.1, 20.4}, {"ema", 20.9, 19.3}, {"gumbel", 27.9, 25.6}, {"nsvq", 24.7, 23.1}, {"simvq", 18.9, 17.8},
	{"diveq", 18.1, 17.0}, {"fsq", 18.5, 17.5}, {"lfq", 18.3, 17.2}, {"hypervq", 19.7, 18.4}, {"grit", 16.9, 16.2},
}

// publishedScaling is its FID and utilization in percent on CelebA-HQ (tab:codebook-scaling), for largeCodes.
var publishedScaling = map[string]struct{ fid, used [4]float64 }{
	"ema":   {[4]float64{24.1, 23.8, 23.5, 24.7}, [4]float64{82, 76, 62, 41}},
	"diveq": {[4]float64{22.4, 20.3, 20.5, 21.9}, [4]float64{88, 84, 78, 63}},
	"fsq":   {[4]float64{22.8, 20.6, 20.1, 20.3}, [4]float64{100, 100, 99, 97}},
	"grit":  {[4]float64{21.0, 18.6, 18.2, 17.9}, [4]float64{96, 98, 99, 99}},
}

// addPaper sets the paper's figures beside ours.
func addPaper(page *table.Page, records []Record) {
	page.Text("### The paper's figures beside ours\n\nOther data, sizes and features: only the orders can be compared.\n")
	t := report.Table{Columns: append([]report.Column{{Name: "method"}},
		report.Columns(report.Right, "paper: FID, CelebA-HQ", "paper: FID, FFHQ", "ours: KID, faces", "ours: Frechet, faces")...)}
	groups := table.Groups(records, nil)
	for _, p := range published {
		cell := func(m table.Measure) string {
			if s := table.Find(groups, p.method, "").Score(m.Name); s.N > 0 {
				return m.Text(s)
			}
			return ""
		}
		t.Rows = append(t.Rows, report.Cells(vq.Title(p.method), fmt.Sprintf("%.1f", p.celebaHQ), fmt.Sprintf("%.1f", p.ffhq),
			cell(kid), cell(frechet)))
	}
	page.Table(t)
}

// addVerdicts says of every claim whether the records agree.
func addVerdicts(page *table.Page, first, scaling []Record) {
	page.Text("## Verdicts\n")
	t := report.Table{Columns: []report.Column{{Name: "claim of the paper"}, {Name: "here"}}}
	main, sweep := table.Groups(first, nil), table.Groups(scaling, Record.codes)
	t.Rows = append(t.Rows, report.Cells("GRIT-VQ has the best samples at B = 9", bestVerdict(main, kid)),
		report.Cells("the order of the methods at B = 9", orderVerdict(main)),
		report.Cells("more codes improve GRIT-VQ's samples from 2^10 to 2^16", trendVerdict(sweep)),
		report.Cells("GRIT-VQ keeps its codes in use at 2^16, EMA-VQ and DiVeQ do not", usedVerdict(sweep)),
		report.Cells("GRIT-VQ's codes are no harder to predict at equal codes", bestVerdict(main, perplexity)))
	page.Table(t)
	page.Text("The paper's utilization at 2^16 codes: %s.\n", publishedUse())
}

const notMeasured = "not measured"

// bestVerdict ranks the methods in a measure.
func bestVerdict(groups []table.Group, m table.Measure) string {
	standings := m.Rank(groups)
	standings = slices.DeleteFunc(standings, func(s table.Standing) bool { return s.Score(m.Name).N == 0 })
	at := slices.IndexFunc(standings, func(s table.Standing) bool { return s.Method == "grit" })
	if at < 0 || len(standings) < 2 {
		return notMeasured
	}
	own := standings[at]
	switch {
	case own.Rank == 1:
		return fmt.Sprintf("yes: the best %s of %d methods", m.Title, len(standings))
	case own.Difference != nil && own.Difference.Tied:
		return fmt.Sprintf("tied with the best %s, that of %s", m.Title, title(standings[0].Method))
	}
	return fmt.Sprintf("no: rank %d of %d in %s; %s is best", own.Rank, len(standings), m.Title, title(standings[0].Method))
}

// orderVerdict is Kendall's rank correlation of the paper's FID on CelebA-HQ with our KID.
func orderVerdict(groups []table.Group) string {
	var paper, ours []float64
	for _, p := range published {
		if s := table.Find(groups, p.method, "").Score(kid.Name); s.N > 0 {
			paper, ours = append(paper, p.celebaHQ), append(ours, s.Mean)
		}
	}
	if len(ours) < 3 {
		return notMeasured
	}
	agree, pairs := 0, 0
	for i := range ours {
		for j := range i {
			pairs++
			if (paper[i] < paper[j]) == (ours[i] < ours[j]) {
				agree++
			}
		}
	}
	return fmt.Sprintf("%d of %d pairs of methods have the paper's order (half is chance)", agree, pairs)
}

func scoreAt(groups []table.Group, method string, codes int, m table.Measure) (float64, bool) {
	s := table.Find(groups, method, strconv.Itoa(codes)).Score(m.Name)
	return s.Mean, s.N > 0
}

func trendVerdict(groups []table.Group) string {
	fewest, a := scoreAt(groups, "grit", largeCodes[0], kid)
	most, b := scoreAt(groups, "grit", largeCodes[len(largeCodes)-1], kid)
	if !a || !b {
		return notMeasured
	}
	answer := "no"
	if most < fewest {
		answer = "yes"
	}
	return fmt.Sprintf("%s: KID %.4f becomes %.4f", answer, fewest, most)
}

func usedVerdict(groups []table.Group) string {
	most, text := largeCodes[len(largeCodes)-1], ""
	for _, method := range []string{"grit", "ema", "diveq"} {
		share, ok := scoreAt(groups, method, most, used)
		if !ok {
			return notMeasured
		}
		text += fmt.Sprintf("%s %.0f %%, ", vq.Title(method), 100*share)
	}
	return text[:len(text)-2] + " of the codes, on held-out pictures"
}

func publishedUse() (text string) {
	for _, method := range sweepMethods {
		p, known := publishedScaling[method]
		if !known {
			continue
		}
		text += fmt.Sprintf("%s %.0f %% (FID %.1f), ", vq.Title(method), p.used[len(p.used)-1], p.fid[len(p.fid)-1])
	}
	return text[:len(text)-2]
}
