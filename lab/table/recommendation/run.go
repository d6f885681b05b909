package recommendation

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task/recommend"
)

// Run is one line of a file of recommendation runs: semantic IDs, or a recommender
// or search engine that was trained on IDs and scored.
type Run struct {
	ID        string       `json:"id"` // its first letter names the table it was made for
	Data      string       `json:"data,omitempty"`
	IDs       string       `json:"ids,omitempty"`  // method of the IDs, optionally with @ and a distinguishing setting
	Kind      string       `json:"kind,omitempty"` // one of the kinds below
	Seed      uint64       `json:"seed,omitempty"`
	Prior     string       `json:"prior,omitempty"` // that the model starts from, or none; older models had none
	Flags     string       `json:"flags,omitempty"` // of the command that trained, beside those above
	IDsFlags  string       `json:"ids_flags,omitempty"`
	Vectors   string       `json:"vectors,omitempty"` // file of the items' vectors
	Seconds   float64      `json:"seconds"`
	IDsScores IDsScores    `json:"ids_scores,omitzero"` // output of ids --json
	Scores    RankScores   `json:"scores,omitzero"`     // output of eval --json
	Searches  []RankScores `json:"searches,omitempty"`  // the same with other searches
	Course    [][]*float64 `json:"course,omitempty"`
	Failed    string       `json:"failed,omitempty"`
	// Commit and ConfigHash are of the program and the settings that trained; "unknown" for older lines.
	Commit     string `json:"commit,omitempty"`
	ConfigHash string `json:"config_hash,omitempty"`
	Hardware   string `json:"hardware,omitempty"`
	Date       string `json:"date,omitempty"`
}

// Kinds of models.
const (
	GenerativeKind = "generative"
	DualKind       = "dual"
	SearchKind     = "search"

	idsKind = "ids" // no model
)

// Kinds lists the kinds of models.
func Kinds() []string { return []string{GenerativeKind, DualKind, SearchKind} }

// The columns of a course; the fourth is perplexity.
const (
	courseStep    = 0
	courseUse     = 1
	courseDead    = 2
	courseColumns = 4
)

// IDsScores is the part of ids --json that the tables need.
type IDsScores struct {
	Items       int               `json:"items"`
	Vocab       []int             `json:"vocab,omitempty"`
	Utilization *float64          `json:"utilization,omitempty"` // mean over levels
	Before      Collisions        `json:"before"`
	After       Collisions        `json:"after"`
	Positions   []eval.UsageStats `json:"positions,omitempty"`
}

// Collisions count items that share their codes.
type Collisions struct {
	Rate    float64 `json:"rate"`
	Largest int     `json:"largest"` // group
}

// RankScores is the part of eval --json that the tables need, of a recommender or a search engine.
type RankScores struct {
	Users      int                   `json:"users,omitempty"`
	Queries    int                   `json:"queries,omitempty"`
	Items      int                   `json:"items,omitempty"`
	Protocol   Protocol              `json:"protocol,omitzero"`
	Search     string                `json:"search,omitempty"` // empty: exact
	Effort     int                   `json:"effort,omitempty"`
	Scores     []eval.RankingScores  `json:"scores,omitempty"`
	Cold       []eval.RankingScores  `json:"cold,omitempty"`
	References []recommend.Reference `json:"references,omitempty"`
	ColdAt     int                   `json:"cold_at_most"`
	PerSecond  float64               `json:"answers_per_second,omitempty"`
	Alone      float64               `json:"ms_per_answer,omitempty"`
	Lookup     float64               `json:"ms_per_lookup,omitempty"` // of it in the index
}

// Protocol is the part of a protocol in which runs of recommenders differ.
type Protocol struct {
	Seen string `json:"seen_items,omitempty"` // keep or drop
}

func (s RankScores) search() string { return cmp.Or(s.Search, exact) }

const (
	exact    = "exact"
	dropSeen = "drop"
)

// at returns the scores at a cutoff, NaN where there are none.
func at(list []eval.RankingScores, k int) eval.RankingScores {
	if i := slices.IndexFunc(list, func(s eval.RankingScores) bool { return s.K == k }); i >= 0 {
		return list[i]
	}
	return eval.RankingScores{K: k, Recall: math.NaN(), HitRate: math.NaN(), NDCG: math.NaN(), MRR: math.NaN()}
}

func (r Run) method() string {
	name, _, _ := strings.Cut(r.IDs, "@")
	return name
}

func (r Run) place() place { return place{r.Data, r.Kind, r.Scores.Protocol.Seen == dropSeen, r.Prior} }

// codes is the number of codes of a level, 0 where it is not known.
func (r Run) codes() int {
	if len(r.IDsScores.Vocab) == 0 {
		return 0
	}
	return r.IDsScores.Vocab[0]
}

// usual says that the IDs have the size of most tables, as far as is known.
func (r Run) usual() bool { return r.codes() == 0 || r.codes() == mainCodes }

// Check implements table.Run.
func (r Run) Check() error {
	switch {
	case r.ID == "" || r.Failed == "" && (r.Data == "" || r.method() == ""):
		return errors.New("a run needs an id, and data and ids unless it failed")
	case r.Failed == "" && kinds[r.Kind].command == "":
		return fmt.Errorf("kind %q: use %s, %s, %s or %s", r.Kind, GenerativeKind, DualKind, SearchKind, idsKind)
	}
	for _, moment := range r.Course {
		if len(moment) != courseColumns || moment[courseStep] == nil {
			return fmt.Errorf("a moment of the course needs a step and %d values", courseColumns-1)
		}
	}
	return nil
}

// About implements table.Run. The size of IDs varies with the table.
func (r Run) About() table.About {
	flags := r.Flags
	if r.Kind == idsKind {
		flags = table.WithoutFlags(flags, "--codes")
	}
	return table.About{ID: r.ID, Method: r.method(), Seconds: r.Seconds, Failed: r.Failed,
		Cell:    fmt.Sprint(r.Data, " ", r.Scores.Protocol.Seen, " ", r.Kind, " ", r.Prior, " ", r.IDs, " ", r.codes(), " ", r.Seed),
		Command: strings.TrimSpace(kinds[r.Kind].command + " " + flags)}
}

const coldPrefix = "cold "

// Record implements table.Run.
func (r Run) Record() table.Record {
	scores := table.Scores{}
	addRanking := func(prefix string, list []eval.RankingScores) {
		for _, s := range list {
			scores[fmt.Sprintf("%sR@%d", prefix, s.K)] = s.Recall
			scores[fmt.Sprintf("%sN@%d", prefix, s.K)] = s.NDCG
			scores[fmt.Sprintf("%sMRR@%d", prefix, s.K)] = s.MRR
			if s.Users > 0 {
				scores[fmt.Sprintf("%susers@%d", prefix, s.K)] = float64(s.Users)
			}
		}
	}
	addRanking("", r.Scores.Scores)
	addRanking(coldPrefix, r.Scores.Cold)
	if s := r.IDsScores; s.Items > 0 && coded(r.method()) {
		scores["collisions"], scores["after"], scores["largest"] = s.Before.Rate, s.After.Rate, float64(s.Before.Largest)
		if s.Utilization != nil {
			scores["used"] = *s.Utilization
		}
		for level, p := range s.Positions {
			scores[fmt.Sprintf("level%d", level+1)] = p.Utilization
		}
	}
	if r.Scores.Alone > 0 {
		scores["alone"] = r.Scores.Alone
	}
	if r.Scores.PerSecond > 0 {
		scores["rate"] = r.Scores.PerSecond
	}
	if len(r.Course) > 0 {
		scores["steps"] = *r.Course[len(r.Course)-1][courseStep]
	}
	return table.Record{Method: r.method(), Seed: r.Seed, Scores: scores}
}

func ranking(name string) table.Measure {
	return table.Measure{Name: name, Title: name, Goal: table.Higher, Text: table.Decimals(4)}
}

var (
	collisions = table.Measure{Name: "collisions", Title: "collisions", Goal: table.Lower, Text: table.PercentDecimals(2)}
	used       = table.Measure{Name: "used", Title: "codes used", Goal: table.Higher, Text: table.PercentDecimals(1)}
	alone      = table.Measure{Name: "alone", Title: "ms an answer", Text: table.Decimals(2)} // of one question, on the machine of the run
	rate       = table.Measure{Name: "rate", Title: "answers/s", Text: table.Decimals(0)}
	steps      = table.Measure{Name: "steps", Title: "steps", Text: table.Decimals(0)} // where training ended, early or not
)

// kinds describe the kinds of runs: the command that trains, and the columns of their tables.
var kinds = map[string]struct {
	command  string
	cutoff   int    // of the paper's tables; figures and tests use it
	asked    string // unit that scores are means over
	measures []table.Measure
}{
	GenerativeKind: {"gritvq recommend train IDS LOG -o DIR", 10, "users",
		append(rankings("R@5", "N@5", "R@10", "N@10", "R@20"), collisions, used, rate, steps)},
	DualKind: {"gritvq recommend train IDS LOG -o DIR --model dual", 50, "users",
		append(rankings("R@10", "N@10", "R@50", "N@50", "R@100", "N@100"), collisions, used, alone, steps)},
	SearchKind: {"gritvq retrieve train IDS derived -o DIR", 50, "queries",
		append(rankings("R@10", "N@10", "MRR@10", "R@50", "R@100"), collisions, used, alone, steps)},
	idsKind: {"gritvq ids EMBEDDINGS --items ITEMS -o IDS", 50, "", nil},
}

func rankings(names ...string) []table.Measure {
	var list []table.Measure
	for _, name := range names {
		list = append(list, ranking(name))
	}
	return list
}

func coldMeasures(kind string) []table.Measure {
	k := kinds[kind].cutoff
	list := rankings(fmt.Sprintf("R@%d", k), fmt.Sprintf("N@%d", k))
	list = append(list, table.Measure{Name: fmt.Sprintf("users@%d", k), Title: kinds[kind].asked, Text: table.Decimals(0)})
	for i := range list {
		list[i].Name = coldPrefix + list[i].Name
	}
	return list
}

// idLevels is the length of the compared IDs, without a token that resolves collisions.
const idLevels = 4

func idMeasures() []table.Measure {
	list := []table.Measure{collisions,
		{Name: "after", Title: "after", Text: table.PercentDecimals(2)},
		{Name: "largest", Title: "largest group", Text: table.Decimals(0)}}
	for level := 1; level <= idLevels; level++ {
		list = append(list, table.Measure{Name: fmt.Sprintf("level%d", level), Title: fmt.Sprintf("used, level %d", level),
			Goal: table.Higher, Text: table.PercentDecimals(1)})
	}
	return list
}
