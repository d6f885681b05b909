package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Methods of IDs that the tables treat apart.
const (
	denseMethod = "dense"
	ourMethod   = "grit"
)

// recommendationNames are those of the rows, in their order. RQ-VAE starts as
// the others do, after a warm-up, and moves dead codes.
var recommendationNames = []struct{ method, name string }{
	{denseMethod, "Dense IDs"}, {"lsh", "LSH"}, {"kmeans-ste", "k-means + STE"}, {"vqvae", "VQ-VAE"}, {"ste", "RQ-VAE"}, {"rqvae", "RQ-VAE, as published"},
	{"simvq", "SimVQ"}, {"nsvq", "NSVQ"}, {"diveq", "DiVeQ"}, {"no-radius", "without radius"}, {"no-transform", "without transform"}, {ourMethod, "GRIT-VQ"},
}

func rowOrder(method string) int {
	for i, n := range recommendationNames {
		if n.method == method {
			return i
		}
	}
	return len(recommendationNames)
}

func recommendationName(method string) string {
	if i := rowOrder(method); i < len(recommendationNames) {
		return recommendationNames[i].name
	}
	return method
}

// ablationName calls RQ-VAE what it is when its parts are compared.
func ablationName(method string) string {
	if method == "ste" {
		return "STE"
	}
	return recommendationName(method)
}

// place is where methods are compared: a set of data and a kind of model.
type place struct{ data, kind string }

var dataTitles = map[string]string{"beauty": "Beauty", "sports": "Sports and Outdoors", "toys": "Toys and Games", "ml-1m": "MovieLens-1M"}

func (p place) title() string { return cmp.Or(dataTitles[p.data], p.data) }

// file names a figure of the place.
func (p place) file(what string) string {
	plain := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			return c
		}
		return '-'
	}, strings.ToLower(p.data))
	return recommendationResults + "-" + what + "-" + plain + "-" + p.kind + ".svg"
}

// Who takes part.
var (
	variants     = []contestant{{denseMethod, 1}, {"lsh", 1}, {"kmeans-ste", 1}, {"vqvae", 1}, {"ste", 3}, {"simvq", 3}, {"diveq", 3}, {ourMethod, 3}}
	allVariants  = once(denseMethod, "lsh", "kmeans-ste", "vqvae", "ste", "simvq", "diveq", ourMethod)
	sweepMethods = once("ste", "simvq", "diveq", ourMethod)
	ablated      = once("ste", "no-radius", "no-transform", ourMethod)
)

// mainCodes is the number of codes of a level in all tables but that of sizes.
const mainCodes = 256

// sweepCodes are the sizes that are compared, beside others that runs have.
var sweepCodes = []int{64, 128, mainCodes, 512}

// comparison is a table of methods at one place.
type comparison struct {
	place
	rows []contestant
}

// section is a group of such tables: those planned, and of other places as runs
// with its letter come.
type section struct {
	letter, kind, heading string
	planned               []comparison
}

var sections = []section{
	{"g", generativeKind, "Generative", []comparison{{place{"beauty", generativeKind}, variants}, {place{"sports", generativeKind}, allVariants}, {place{"toys", generativeKind}, allVariants}}},
	{"d", dualKind, "Dual encoder", []comparison{{place{"beauty", dualKind}, allVariants}, {place{"sports", dualKind}, allVariants}, {place{"toys", dualKind}, allVariants},
		{place{"ml-1m", dualKind}, allVariants}}},
	{"q", searchKind, "Query to product, made-up queries", []comparison{{place{"beauty", searchKind}, allVariants}}},
}

// tables are the section's, with the places and methods that runs add.
func (s section) tables(runs []recommendationRun) []comparison {
	list := slices.Clone(s.planned)
	for _, p := range places(runs, s.letter) {
		if len(s.of(runs, p)) > 0 && p.kind == s.kind && !slices.ContainsFunc(list, func(c comparison) bool { return c.place == p }) {
			list = append(list, comparison{p, nil})
		}
	}
	for i := range list {
		list[i].rows = inOrder(withOthers(list[i].rows, s.of(runs, list[i].place)))
	}
	return list
}

// of selects the section's runs at a place.
func (s section) of(runs []recommendationRun, p place) []recommendationRun {
	return atPlace(runs, s.letter, p, recommendationRun.usual)
}

// atPlace selects the runs of a place that were made for some tables.
func atPlace(runs []recommendationRun, letters string, p place, more func(recommendationRun) bool) []recommendationRun {
	var chosen []recommendationRun
	taken := map[string]bool{}
	for _, r := range runs {
		if r.Failed == "" && r.place() == p && strings.Contains(letters, r.table()) && more(r) && !taken[r.cell()] {
			chosen, taken[r.cell()] = append(chosen, r), true
		}
	}
	return chosen
}

// places lists those of the runs with a letter, in the order of names; otherwise
// is what is planned where there is none.
func places(runs []recommendationRun, letter string, otherwise ...place) []place {
	var list []place
	for _, r := range runs {
		if r.Failed == "" && r.table() == letter && !slices.Contains(list, r.place()) {
			list = append(list, r.place())
		}
	}
	slices.SortFunc(list, func(a, b place) int { return cmp.Or(cmp.Compare(a.data, b.data), cmp.Compare(a.kind, b.kind)) })
	if len(list) == 0 {
		return otherwise
	}
	return list
}

// inOrder sorts rows as the names are.
func inOrder(rows []contestant) []contestant {
	slices.SortStableFunc(rows, func(a, b contestant) int { return rowOrder(a.method) - rowOrder(b.method) })
	return rows
}

// Places of the other tables, unless runs are of others.
func sweepPlaces(runs []recommendationRun) []place {
	return places(runs, "k", place{"beauty", dualKind})
}

func ablationPlaces(runs []recommendationRun) []place {
	return places(runs, ablationLetter, place{"ml-1m", generativeKind})
}

func coursePlaces(runs []recommendationRun) []place {
	return places(runs, "u", place{"beauty", idsKind})
}

// Runs of other tables fill the cells that they have, of the methods that are
// planned or were run for the table.
func sweepRuns(runs []recommendationRun, p place) []recommendationRun {
	rows := withOthers(sweepMethods, atPlace(runs, "k", p, always))
	return atPlace(runs, "kgdq", p, func(r recommendationRun) bool { return r.codes() > 0 && takesPart(rows, r) })
}

// takesPart says whether a run is of one of the rows.
func takesPart(rows []contestant, r recommendationRun) bool {
	return slices.ContainsFunc(rows, func(c contestant) bool { return c.method == r.method() })
}

func ablationRuns(runs []recommendationRun, p place) []recommendationRun {
	return atPlace(runs, "agd", p, func(r recommendationRun) bool {
		return (takesPart(ablated, r) || r.table() == ablationLetter) && r.usual()
	})
}

func courseRuns(runs []recommendationRun, p place) []recommendationRun {
	return atPlace(runs, "u", p, recommendationRun.usual)
}

// sweepSizes are the numbers of codes that are planned or there.
func sweepSizes(runs []recommendationRun) []int {
	sizes := slices.Clone(sweepCodes)
	for _, r := range runs {
		sizes = append(sizes, r.codes())
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// sweepOf is the recall at a place, and what methods and sizes there are.
func sweepOf(runs []recommendationRun, p place) sweep[recommendationRun] {
	return sweep[recommendationRun]{recallAt(mainCutoff(p.kind)), inOrder(withOthers(sweepMethods, runs)), recommendationName, sweepSizes(runs), recommendationRun.codes}
}

// timedRuns are those of a place that were scored with several searches, one of
// a method.
func timedRuns(runs []recommendationRun, p place) []recommendationRun {
	return firstSeeds(atPlace(runs, "dq", p, func(r recommendationRun) bool { return len(r.Searches) > 0 && r.usual() }))
}

// timedPlaces are those where searches were timed.
func timedPlaces(runs []recommendationRun) []place {
	var list []place
	for _, p := range append(places(runs, "d"), places(runs, "q")...) {
		if len(timedRuns(runs, p)) > 0 {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return []place{{"beauty", dualKind}}
	}
	return list
}

const (
	tableLetters   = "gdqkau"
	ablationLetter = "a"
)

// checkRecommendations refuses two runs of the same cell and seed with other
// settings: a table could show only one.
func checkRecommendations(runs []recommendationRun) error {
	seen := map[string]recommendationRun{}
	for _, r := range runs {
		if r.Failed != "" || !strings.Contains(tableLetters, r.table()) {
			continue
		}
		if other, twice := seen[r.cell()]; twice && other.command() != r.command() {
			return fmt.Errorf("%s and %s are %s on %s with the same seed and other settings; let the identifier of one begin with a letter of no table", other.ID, r.ID, r.IDs, r.Data)
		}
		seen[r.cell()] = r
	}
	return nil
}

// unplacedRecommendations names the runs that no table shows.
func unplacedRecommendations(runs []recommendationRun) []string {
	shown := map[string]bool{}
	show := func(list []recommendationRun) {
		for _, r := range list {
			shown[r.ID] = true
		}
	}
	for _, s := range sections {
		for _, c := range s.tables(runs) {
			show(s.of(runs, c.place))
		}
	}
	for _, p := range sweepPlaces(runs) {
		show(sweepRuns(runs, p))
	}
	for _, p := range ablationPlaces(runs) {
		show(ablationRuns(runs, p))
	}
	for _, p := range coursePlaces(runs) {
		show(courseRuns(runs, p))
	}
	var names []string
	for _, r := range runs {
		if r.Failed == "" && !shown[r.ID] {
			names = append(names, r.ID)
		}
	}
	return names
}
