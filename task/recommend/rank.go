package recommend

import (
	"context"
	"slices"

	"github.com/gritvq/gritvq/eval"
)

// RankOptions refine Rank.
type RankOptions struct {
	Depth    int                   // length of the lists
	Users    int                   // at most so many, evenly spaced; 0 means all
	Progress func(done, total int) // may be nil
}

// rankBlock is the number of users asked for between two reports of progress.
const rankBlock = 1024

// Rank asks for every user's held-out item and returns where it stands in the
// list that the searcher makes of the whole catalogue; 0 is nowhere. Items of the
// same score share their mean rank, as in eval.RankOf. It fails where nothing is
// held out.
func Rank(ctx context.Context, searcher Searcher, d *Dataset, part Part, o RankOptions) (*eval.Ranking, error) {
	queries, targets := d.Queries(part, o.Users)
	if len(queries) == 0 {
		return nil, d.nobody()
	}
	ranking := eval.NewRanking()
	ranking.Depth = o.Depth
	var scores []float64
	for start := 0; start < len(queries); start += rankBlock {
		end := min(len(queries), start+rankBlock)
		lists, err := searcher.Recommend(ctx, queries[start:end], o.Depth)
		if err != nil {
			return nil, err
		}
		for i, list := range lists {
			rank := 0
			if place := slices.IndexFunc(list, func(s Scored) bool { return s.Item == targets[start+i] }); place >= 0 {
				scores = scores[:0]
				for _, s := range list {
					scores = append(scores, s.Score)
				}
				rank = eval.RankOf(scores, place)
			}
			if err := ranking.Add(queries[start+i].User, rank); err != nil {
				return nil, err
			}
		}
		if o.Progress != nil {
			o.Progress(end, len(queries))
		}
	}
	return ranking, nil
}
