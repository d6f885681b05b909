package recommend

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/fingerprint"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/seal"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/recommend/network"
)

// Reference is a classical model on the same questions, fitted on the training part
// alone, with settings chosen on validation questions.
type Reference struct {
	Name     string               `json:"name"`
	Settings string               `json:"settings"`
	Scores   []eval.RankingScores `json:"scores"`
	Against  []Difference         `json:"differences,omitempty"` // recall and NDCG of the model less those of the reference
	ranking  *eval.Ranking
}

// Difference compares a model with a reference, question by question.
type Difference struct {
	Metric    eval.RankMetric `json:"metric"`
	K         int             `json:"k"`
	Model     float64         `json:"model"`
	Reference float64         `json:"reference"`
	Low       float64         `json:"low"` // 95 % bootstrap interval of their difference
	High      float64         `json:"high"`
	P         float64         `json:"p"` // of the paired t test
}

// referenceKinds are the references of a purpose: models that are fitted in seconds.
func referenceKinds(p *Purpose) []*Kind {
	if p == Searching {
		return []*Kind{bm25Kind}
	}
	return []*Kind{popularityKind, itemKNNKind, transitionsKind}
}

// referenceVersion changes with anything that changes ranks of references.
const referenceVersion = 1

// References ranks the questions for testing by the references of the data's
// purpose, or reads their ranks from a directory, in which it keeps them otherwise;
// without a directory it keeps nothing.
func References(ctx context.Context, d *Dataset, depth int, dir string, w task.Watcher) ([]Reference, error) {
	if d.purpose == Searching {
		if _, err := textsOf(d.catalogue()); err != nil {
			w.Remark("note: there is no reference: %v", err)
			return nil, nil
		}
	}
	var list []Reference
	for _, kind := range referenceKinds(d.purpose) {
		path := ""
		if dir != "" {
			path = filepath.Join(dir, kind.Name+"-"+d.referenceKey(depth)+".json")
		}
		r, known := readReference(path)
		if !known {
			w.Remark("counting a reference: %s", kind.Name)
			var err error
			if r, err = rankReference(ctx, d, kind, depth); err != nil {
				return nil, err
			}
			if path != "" {
				if err := r.write(path); err != nil {
					w.Remark("note: the reference was not kept for the next call: %v", err)
				}
			}
		}
		r.Scores = r.ranking.Means()
		list = append(list, r)
	}
	return list, nil
}

// referenceKey names all that the ranks of references depend on.
func (d *Dataset) referenceKey(depth int) string {
	h := fingerprint.New()
	h.Number(referenceVersion)
	h.Number(uint64(depth))
	h.Text(d.Fingerprint)
	h.Text(d.order)
	h.Text(string(d.Seen))
	for row := range d.Table.Len() {
		h.Text(d.Table.Key(row))
		if d.purpose == Searching {
			h.Text(d.text(row))
		}
	}
	return h.String()
}

func rankReference(ctx context.Context, d *Dataset, kind *Kind, depth int) (Reference, error) {
	c := kind.Default()
	m, err := c.New(sizeOf(d.Table))
	if err != nil {
		return Reference{}, err
	}
	set, err := m.(Fitter).Fit(ctx, d)
	if err != nil {
		return Reference{}, err
	}
	ranker, err := m.Ranker(ctx, nil, set, d.catalogue(), network.Options{Depth: depth, ExcludeSeen: d.dropsSeen()})
	if err != nil {
		return Reference{}, err
	}
	defer ranker.Close()
	ranking, err := Rank(ctx, ranker, d, TestPart, depth, 0, task.Silent{})
	return Reference{Name: kind.Name, Settings: m.String(), ranking: ranking}, err
}

// keptReference is the form of a reference in a file.
type keptReference struct {
	Name     string    `json:"name"`
	Settings string    `json:"settings"`
	Depth    int       `json:"depth"`
	Names    []string  `json:"names"` // of users or searches
	Ranks    [][]int32 `json:"ranks"`
}

func (r Reference) write(path string) error {
	kept := keptReference{Name: r.Name, Settings: r.Settings, Depth: r.ranking.Depth}
	for i := range r.ranking.Len() {
		kept.Names, kept.Ranks = append(kept.Names, r.ranking.User(i)), append(kept.Ranks, r.ranking.Ranks(i))
	}
	text, err := json.Marshal(kept)
	if err == nil {
		text, err = seal.Add(text)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readReference reads what write wrote; a file that is missing or damaged is not known.
func readReference(path string) (Reference, bool) {
	text, err := memory.ReadFile(path)
	var kept keptReference
	if err != nil || json.Unmarshal(text, &kept) != nil || seal.Verify(text, &kept) != nil ||
		len(kept.Names) != len(kept.Ranks) || len(kept.Names) == 0 {
		return Reference{}, false
	}
	r := Reference{Name: kept.Name, Settings: kept.Settings, ranking: eval.NewRanking()}
	r.ranking.Depth = kept.Depth
	for i, name := range kept.Names {
		ranks := make([]int, len(kept.Ranks[i]))
		for j, rank := range kept.Ranks[i] {
			ranks[j] = int(rank)
		}
		if r.ranking.Add(name, ranks...) != nil {
			return Reference{}, false
		}
	}
	return r, true
}

// compare tests a model's ranking against each reference.
func compare(model *eval.Ranking, references []Reference) error {
	if model.Len() < 2 {
		return nil // a difference needs two questions
	}
	k := min(10, cmp.Or(model.Depth, 10))
	for i := range references {
		r := &references[i]
		for _, metric := range []eval.RankMetric{eval.Recall, eval.NDCG} {
			c, err := eval.CompareRankings(model, r.ranking, metric, k, 1)
			if err != nil {
				return err
			}
			r.Against = append(r.Against, Difference{metric, k, c.A, c.B, c.Low, c.High, c.Paired.P})
		}
	}
	return nil
}

// bestReference returns the reference of the largest recall at the compared cutoff,
// nil without any.
func bestReference(references []Reference) *Reference {
	var best *Reference
	for i := range references {
		if r := &references[i]; len(r.Against) > 0 && (best == nil || r.Against[0].Reference > best.Against[0].Reference) {
			best = r
		}
	}
	return best
}

// below says in plain words that the model is worse than its best reference; it is
// empty unless the paired interval is below zero.
func below(references []Reference) string {
	best := bestReference(references)
	if best == nil || best.Against[0].High >= 0 {
		return ""
	}
	c := best.Against[0]
	return fmt.Sprintf("this model is worse than a simple table: recall@%d is %.4f, "+
		"%s has %.4f (difference %.4f, 95 %% interval %.4f to %.4f)",
		c.K, c.Model, best.Name, c.Reference, c.Model-c.Reference, c.Low, c.High)
}
