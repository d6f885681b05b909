package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gritvq/gritvq/eval"
)

// recommendationRun is one line of a file of recommendation runs: IDs that were
// given, or a recommender or search engine that was trained on IDs and scored,
// or why that failed.
type recommendationRun struct {
	ID        string       `json:"id"` // its first letter names the table it was made for
	Data      string       `json:"data,omitempty"`
	IDs       string       `json:"ids,omitempty"`  // method of the IDs, and after an @ what else tells them apart
	Kind      string       `json:"kind,omitempty"` // one of the kinds below
	Seed      uint64       `json:"seed,omitempty"`
	Flags     string       `json:"flags,omitempty"` // of the command that trained, beside those above
	Seconds   float64      `json:"seconds"`
	IDsScores idsScores    `json:"ids_scores,omitzero"` // what ids --json printed
	Scores    rankScores   `json:"scores,omitzero"`     // what eval --json printed
	Searches  []rankScores `json:"searches,omitempty"`  // the same with other searches
	Course    [][]*float64 `json:"course,omitempty"`
	Failed    string       `json:"failed,omitempty"`
}

// Kinds of runs.
const (
	generativeKind = "generative"
	dualKind       = "dual"
	searchKind     = "search"
	idsKind        = "ids"
)

// kindCommands are the commands that train.
var kindCommands = map[string]string{generativeKind: "gritvq recommend train IDS LOG -o DIR", dualKind: "gritvq recommend train IDS LOG -o DIR --model dual",
	searchKind: "gritvq retrieve train IDS derived -o DIR", idsKind: "gritvq ids EMBEDDINGS --items ITEMS -o IDS"}

// The columns of a course: of IDs, and of what is trained on them.
const (
	idsCourseStep = iota
	idsCourseUse
	idsCourseDead
	idsCoursePerplexity
	recommendationCourseColumns
)

// idsScores is what the tables need of ids --json.
type idsScores struct {
	Items       int               `json:"items"`
	Vocab       []int             `json:"vocab,omitempty"`
	Utilization *float64          `json:"utilization,omitempty"` // mean over levels
	Before      sharedCodes       `json:"before"`
	After       sharedCodes       `json:"after"`
	Positions   []eval.UsageStats `json:"positions,omitempty"`
}

// sharedCodes say how many items are not told apart.
type sharedCodes struct {
	Rate    float64 `json:"rate"`
	Largest int     `json:"largest"`
}

// rankScores is what the tables need of eval --json, of a recommender or of a
// search engine.
type rankScores struct {
	Users     int                  `json:"users,omitempty"`
	Queries   int                  `json:"queries,omitempty"`
	Items     int                  `json:"items,omitempty"`
	Search    string               `json:"search,omitempty"` // empty: exact
	Effort    int                  `json:"effort,omitempty"`
	Scores    []eval.RankingScores `json:"scores,omitempty"`
	Cold      []eval.RankingScores `json:"cold,omitempty"`
	ColdAt    int                  `json:"cold_at_most"`
	PerSecond float64              `json:"answers_per_second,omitempty"`
	Alone     float64              `json:"ms_per_answer,omitempty"`
	Lookup    float64              `json:"ms_per_lookup,omitempty"` // of it in the index
}

// at returns the scores at a cutoff; what is not there is NaN.
func at(list []eval.RankingScores, k int) eval.RankingScores {
	for _, s := range list {
		if s.K == k {
			return s
		}
	}
	return eval.RankingScores{K: k, Recall: math.NaN(), HitRate: math.NaN(), NDCG: math.NaN(), MRR: math.NaN()}
}

func (r recommendationRun) identity() string { return r.ID }
func (r recommendationRun) failure() string  { return r.Failed }
func (r recommendationRun) took() float64    { return r.Seconds }

// method is that of the IDs.
func (r recommendationRun) method() string {
	name, _, _ := strings.Cut(r.IDs, "@")
	return name
}

// check reports what the line lacks.
func (r recommendationRun) check() error {
	switch {
	case r.ID == "" || r.Failed == "" && (r.Data == "" || r.method() == ""):
		return errors.New("a run needs an id, and data and ids unless it failed")
	case r.Failed == "" && kindCommands[r.Kind] == "":
		return fmt.Errorf("kind %q: use %s, %s, %s or %s", r.Kind, generativeKind, dualKind, searchKind, idsKind)
	}
	for _, moment := range r.Course {
		if len(moment) != recommendationCourseColumns || moment[idsCourseStep] == nil {
			return fmt.Errorf("a moment of the course needs a step and %d values", recommendationCourseColumns-1)
		}
	}
	return nil
}

// table is the letter of the table that the run was made for.
func (r recommendationRun) table() string { return tableLetter(r.ID) }

// place is the set and the kind of model.
func (r recommendationRun) place() place { return place{r.Data, r.Kind} }

// codes is the number of codes of a level, 0 where it is not known.
func (r recommendationRun) codes() int {
	if len(r.IDsScores.Vocab) == 0 {
		return 0
	}
	return r.IDsScores.Vocab[0]
}

// usual says that the IDs have the size of most tables, as far as is known.
func (r recommendationRun) usual() bool { return r.codes() == 0 || r.codes() == mainCodes }

// cell names what a table shows in one place, and the seed. Tokenizers of other
// seeds are told apart by their names.
func (r recommendationRun) cell() string {
	return fmt.Sprint(r.Data, " ", r.Kind, " ", r.IDs, " ", r.codes(), " ", r.Seed)
}

// command is the one that trained; IDs vary in their size with the table.
func (r recommendationRun) command() string {
	flags := r.Flags
	if r.Kind == idsKind {
		flags = withoutFlags(flags, "--codes")
	}
	return strings.TrimSpace(kindCommands[r.Kind] + " " + flags)
}
