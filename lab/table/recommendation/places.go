package recommendation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/vq"
)

const (
	denseMethod  = "dense"  // a code of its own for every item
	randomMethod = "random" // items' numbers in codes
	ourMethod    = "grit"
)

// methods are the rows, in their order. RQ-VAE has a warm-up and resets dead codes as the others do.
var methods = []string{denseMethod, randomMethod, "lsh", "kmeans-ste", "vqvae", "ste", "rqvae", "simvq", "nsvq", "diveq", "no-radius",
	"no-transform", ourMethod}

// ownTitles are the titles of rows that differ from package vq's.
var ownTitles = map[string]string{denseMethod: "Dense IDs", randomMethod: "Random codes",
	"vqvae": "VQ-VAE", "ste": "RQ-VAE", "no-radius": "without radius",
	"no-transform": "without transform"}

// coded says that IDs are codes that a method chose, not numbers.
func coded(method string) bool { return method != denseMethod && method != randomMethod }

func order(method string) int {
	if i := slices.Index(methods, method); i >= 0 {
		return i
	}
	return len(methods)
}

func title(method string) string { return cmp.Or(ownTitles[method], vq.Title(method)) }

func partTitle(method string) string {
	if method == vq.STE.Name {
		return vq.STE.Title
	}
	return title(method)
}

func layout(planned []table.Row, groups []table.Group, name func(string) string) table.Layout {
	l := table.Layout{Rows: planned, Name: name}.With(groups)
	slices.SortStableFunc(l.Rows, func(a, b table.Row) int { return order(a.Method) - order(b.Method) })
	return l
}

type place struct {
	data, kind string
	// dropped says that seen items are left out of the answers. They stay in those of published tables, and of runs that
	// do not state their protocol: until then there was no other.
	dropped bool
	// prior is what models start from: none, which compares IDs alone, or auto, the best classical score. It is empty for
	// models of before there was one.
	prior string
}

// Values of a prior.
const (
	alonePrior   = "none"
	productPrior = "auto"
)

var dataTitles = map[string]string{"beauty": "Beauty", "sports": "Sports and Outdoors", "toys": "Toys and Games", "ml-1m": "MovieLens-1M"}

func (p place) title() string {
	title := cmp.Or(dataTitles[p.data], p.data)
	switch p.prior {
	case "":
	case alonePrior:
		title += ", IDs alone"
	case productPrior:
		title += ", from the best classical score"
	default:
		title += ", from " + p.prior
	}
	if p.dropped {
		title += ", seen items dropped"
	}
	return title
}

// rule is the stored form of a rule for seen items, empty for the usual one.
func (p place) rule() string {
	if p.dropped {
		return dropSeen
	}
	return ""
}

func (p place) file(what string) string {
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, strings.ToLower(p.data))
	if p.prior != "" {
		plain += "-" + p.prior
	}
	if p.dropped {
		plain += "-dropped"
	}
	return Name + "-" + what + "-" + plain + "-" + p.kind + ".svg"
}

var (
	severalSeeds = place{data: "beauty", kind: GenerativeKind} // where variants are planned
	variants     = table.Plan(denseMethod, randomMethod, "lsh", "kmeans-ste", "vqvae", "ste x 3", "simvq x 3", "diveq x 3", ourMethod+" x 3")
	allVariants  = table.Plan(denseMethod, randomMethod, "lsh", "kmeans-ste", "vqvae", "ste", "simvq", "diveq", ourMethod)
	sweepRows    = table.Plan("ste", "simvq", "diveq", ourMethod)
	partRows     = table.Plan("ste", "no-radius", "no-transform", ourMethod)
)

const mainCodes = 256

// sweepCodes are compared, beside other sizes that runs have.
var sweepCodes = []int{64, 128, mainCodes, 512}

const (
	partLetter   = "a"
	courseLetter = "u"
	letters      = "gdq" + SweepLetter + partLetter + courseLetter + ProductLetter + AloneLetter
)

// Letters of the tables of today's models: those that start from a classical score, and those that start from nothing.
const (
	ProductLetter = "p"
	AloneLetter   = "n"
)

// SweepLetter is that of the figure of numbers of codes.
const SweepLetter = "k"

type contest struct {
	place
	letter, heading string
	planned         []table.Row
	runs            []Run
}

// section lists the planned tables of a kind; runs with its letter may add other places.
type section struct {
	letter, heading string
	place           // of all data
	data            []string
}

var (
	amazon   = []string{"beauty", "sports", "toys"}
	sections = []section{
		{ProductLetter, "Dual encoder", place{kind: DualKind, prior: productPrior, dropped: true}, append(amazon[:3:3], "ml-1m")},
		{ProductLetter, "Generative", place{kind: GenerativeKind, prior: productPrior, dropped: true}, append(amazon[:3:3], "ml-1m")},
		{AloneLetter, "Dual encoder", place{kind: DualKind, prior: alonePrior}, append(amazon[:3:3], "ml-1m")},
		{AloneLetter, "Generative", place{kind: GenerativeKind, prior: alonePrior}, append(amazon[:3:3], "ml-1m")},
		{"g", "Generative", place{kind: GenerativeKind}, amazon},
		{"d", "Dual encoder", place{kind: DualKind}, append(amazon[:3:3], "ml-1m")},
		{"q", "Query to product, made-up queries", place{kind: SearchKind}, []string{"beauty"}},
	}
)

func contests(runs *table.Runs[Run]) []contest {
	var list []contest
	for _, s := range sections {
		var known []place
		for _, data := range s.data {
			p, rows := s.place, allVariants
			if p.data = data; p == severalSeeds || p.prior != "" && data == severalSeeds.data {
				rows = variants
			}
			known = append(known, p)
			list = append(list, contest{p, s.letter, s.heading, rows, atPlace(runs, s.letter, p, Run.usual)})
		}
		for _, p := range places(runs, s.letter) {
			chosen := atPlace(runs, s.letter, p, Run.usual)
			if p.kind == s.kind && !slices.Contains(known, p) && len(chosen) > 0 {
				list = append(list, contest{p, s.letter, s.heading, nil, chosen})
			}
		}
	}
	return list
}

// partContests lists the tables of GRIT-VQ's parts; runs of other tables fill the cells they have.
func partContests(runs *table.Runs[Run]) []contest {
	var list []contest
	for _, p := range places(runs, partLetter, place{data: "ml-1m", kind: GenerativeKind}) {
		chosen := atPlace(runs, partLetter+"gd", p, func(r Run) bool { return (planned(partRows, r) || r.About().Made(partLetter)) && r.usual() })
		list = append(list, contest{p, partLetter, "Parts of GRIT-VQ", partRows, chosen})
	}
	return list
}

func planned(rows []table.Row, r Run) bool {
	return slices.ContainsFunc(rows, func(row table.Row) bool { return row.Method == r.method() })
}

func atPlace(runs *table.Runs[Run], letters string, p place, keep func(Run) bool) []Run {
	return runs.Select(letters, func(r Run) bool { return r.place() == p && keep(r) })
}

// places lists the places of runs with a letter, or the planned ones if there is none.
func places(runs *table.Runs[Run], letter string, planned ...place) []place {
	var list []place
	for _, r := range runs.All {
		if r.About().Made(letter) && !slices.Contains(list, r.place()) {
			list = append(list, r.place())
		}
	}
	slices.SortFunc(list, func(a, b place) int { return cmp.Or(cmp.Compare(a.title(), b.title()), cmp.Compare(a.kind, b.kind)) })
	if len(list) == 0 {
		return planned
	}
	return list
}

// sweepRuns fills the table of sizes; runs of other tables fill the sizes they have.
func sweepRuns(runs *table.Runs[Run], p place) []Run {
	known := func(r Run) bool { return r.codes() > 0 }
	own := layout(sweepRows, table.Groups(atPlace(runs, SweepLetter, p, known), nil), title)
	return atPlace(runs, SweepLetter+"gdq"+AloneLetter, p, func(r Run) bool { return known(r) && planned(own.Rows, r) })
}

func sweepSizes(runs []Run) []int {
	sizes := slices.Clone(sweepCodes)
	for _, r := range runs {
		sizes = append(sizes, r.codes())
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// firstSeeds keeps the run of every method with the least seed, in the order of titles.
func firstSeeds(runs []Run) []Run {
	var list []Run
	for _, row := range layout(nil, table.Groups(runs, nil), title).Rows {
		own := slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.method() != row.Method })
		list = append(list, slices.MinFunc(own, func(a, b Run) int { return cmp.Compare(a.Seed, b.Seed) }))
	}
	return list
}
