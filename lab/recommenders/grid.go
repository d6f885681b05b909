package recommenders

import (
	"fmt"

	"github.com/gritvq/gritvq/lab/table/recommendation"
)

// set is a data set of the grid.
type set struct{ name, dir, items string }

var (
	beauty = set{"beauty", "recsys/amazon-beauty", "items.jsonl"}
	sports = set{"sports", "recsys/amazon-sports", "items.jsonl"}
	toys   = set{"toys", "recsys/amazon-toys", "items.jsonl"}
	films  = set{"ml-1m", "recsys/ml-1m", "movies.dat"}
)

// The IDs of the grid, the likeliest to be quoted first, and those with three seeds.
var (
	allMethods  = []string{"grit", "ste", "diveq", "simvq", "kmeans-ste", "vqvae", "lsh", "dense", "random"}
	mainMethods = []string{"grit", "ste", "diveq"}
)

const gridCodes = 256

// The flags of all models of the grid.
var gridModel = []string{"--steps", "10000", "--set", "model.precision=bf16"}

func (s set) job(letter, method, kind, prior, seen string, codes int, seed uint64) Job {
	j := Job{ID: fmt.Sprintf("%s-%s-%s-%s-%d", letter, s.name, kind, method, seed), Data: s.name,
		Embeddings: s.dir + "/item_text_use512.npy", Items: s.dir + "/" + s.items, Log: s.dir + "/sequences.txt",
		Method: method, Codes: codes, Kind: kind, Prior: prior, Seen: seen, Seed: seed, Model: gridModel}
	if codes != gridCodes {
		j.ID += fmt.Sprintf("-%d", codes)
	}
	return j
}

// Grid lists the jobs of the tables in the order of their worth: Beauty with one seed, both kinds of models, first as the
// product, from the best classical score and with seen items dropped, then IDs alone, without that score and in the
// protocol of published figures; more seeds of the main methods; other logs; other numbers of codes.
func Grid() (jobs []Job) {
	add := func(s set, methods []string, seeds ...uint64) {
		for _, seed := range seeds {
			for _, kind := range []string{recommendation.DualKind, recommendation.GenerativeKind} {
				for _, method := range methods {
					jobs = append(jobs, s.job(recommendation.ProductLetter, method, kind, "auto", "drop", gridCodes, seed))
				}
				for _, method := range methods {
					jobs = append(jobs, s.job(recommendation.AloneLetter, method, kind, "none", "keep", gridCodes, seed))
				}
			}
		}
	}
	add(beauty, allMethods, 1)
	add(beauty, mainMethods, 2, 3)
	for _, s := range []set{sports, toys, films} {
		add(s, allMethods, 1)
	}
	for _, codes := range []int{64, 128, 512} {
		for _, method := range []string{"grit", "ste", "diveq", "simvq"} {
			jobs = append(jobs, beauty.job(recommendation.SweepLetter, method, recommendation.DualKind, "none", "keep", codes, 1))
		}
	}
	return jobs
}
