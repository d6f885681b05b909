package compare

import (
	"math"
	"slices"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// OfVectors is the kind of comparisons of vectors.
var OfVectors = &Kind{
	Items: "vectors",
	Measures: []table.Measure{
		{Name: "bits_per_vector", Title: "bits", Note: "of a vector's codes", Text: table.Mean(4), Fixed: true},
		{Name: "relative_error", Title: "error", Note: "relative, held out: 0 is perfect, 1 is answering with the mean",
			Goal: table.Lower, Resolution: 0.005, Relative: true, Text: table.Digits(4)},
		{Name: "mse", Title: "mse", Goal: table.Lower, Text: table.Digits(4), Wide: true},
		{Name: "cosine", Title: "cosine", Goal: table.Higher, Text: table.Digits(4)},
		{Name: "recall_at_10", Title: "recall@10", Note: "of the 10 nearest originals, searching decoded vectors",
			Goal: table.Higher, Text: table.Digits(3)},
		{Name: "utilization", Title: "used", Note: "share of the codes that some row of the file uses", Goal: table.Higher, Text: table.Percent},
		{Name: "utilization_held", Title: "used, held out", Text: table.Percent, Wide: true},
		{Name: "perplexity", Title: "perplexity", Text: table.Mean(4)},
		{Name: "dead_codes", Title: "dead", Note: "codes that no row of the file uses", Text: table.Mean(3)},
		{Name: "train_seconds", Title: "trained in", Text: table.Duration},
		{Name: "encode_rate", Title: "encode/s", Text: table.Short},
		{Name: "decode_rate", Title: "decode/s", Text: table.Short},
		{Name: "parameters", Title: "parameters", Text: table.Short, Fixed: true},
	},
	Decides: "relative_error",
	Rate:    "bits_per_vector",
	Charts: []Panel{
		{Measure: "relative_error", Title: "Held-out error", Caption: "Lower is better; bars are standard deviations over seeds.",
			Label: "relative error"},
		{Measure: "recall_at_10", Title: "Recall@10", Caption: "Higher is better: decoded vectors keep their neighbours.", Label: "recall@10"},
	},
	Curves: []Panel{
		{Measure: "relative_error", Title: "Rate and distortion", Caption: "Held-out relative error; bands are standard deviations over seeds.",
			Label: "relative error", Log: true},
		{Measure: "recall_at_10", Title: "Rate and recall", Caption: "The share of the 10 nearest neighbours that decoded vectors keep.",
			Label: "recall@10"},
		usedOverRate,
	},
	Course: Panel{Title: "Held-out error", Caption: "Relative error with hard codes; lower is better.", Label: "relative error", Log: true},
	held:   func(h vqtrain.HeldRecord) float64 { return h.RelativeError },
	score:  scoreVectors,
	fairness: "Every method had the same rows, bits, network, batches and steps, and its own best practice; " +
		"classical methods are fitted to the vectors themselves.",
	healthy: "A healthy codebook uses every code, and none of them for most of the data. Rows of the whole file, first code of a vector.",
}

// Error bins are spaced evenly on a logarithmic scale.
const (
	binsPerDecade = 12
	lowestDecade  = -5
	decades       = 7
)

// ErrorBins returns the edges of the bins of [Record].Errors: squared error of a row over the mean squared distance of
// a row from the mean of the data. Errors[i] counts rows from edge i-1 on, the first those below all edges.
func ErrorBins() []float64 {
	edges := make([]float64, decades*binsPerDecade+1)
	for i := range edges {
		edges[i] = math.Pow(10, lowestDecade+float64(i)/binsPerDecade)
	}
	return edges
}

// errorBin counts errors that are not numbers as the largest.
func errorBin(x float64) int {
	last := decades*binsPerDecade + 1
	if math.IsNaN(x) || math.IsInf(x, 1) {
		return last
	}
	if x <= 0 {
		return 0
	}
	at := math.Floor((math.Log10(x)-lowestDecade)*binsPerDecade) + 1
	return int(min(max(at, 0), float64(last)))
}

const (
	neighbourCount = 10 // nearest neighbours of a query
	databaseRows   = 10_000
	queryRows      = 1_000
)

// nearest finds for each of the first queries rows of x [n,d] the k nearest rows of database [m,d], nearest first; ties
// go to the lowest row. Row i of the database belongs to row i of x and is left out of its own neighbours.
func nearest(x []float32, queries int, database []float32, d, k int) ([][]int, error) {
	n := len(database) / d
	rows, err := index.NewExact(index.Euclidean, database, n, d)
	if err != nil {
		return nil, err
	}
	more := min(k+1, n) // the own row may be among them
	items := make([]uint32, queries*more)
	rows.Search(x[:queries*d], queries, more, items, nil, index.SearchOptions{})
	found := make([][]int, queries)
	for q := range found {
		for _, row := range items[q*more : (q+1)*more] {
			if int(row) != q && len(found[q]) < k {
				found[q] = append(found[q], int(row))
			}
		}
	}
	return found, nil
}

// recall is the share of true neighbours [queries][k] that were found.
func recall(truth, found [][]int) float64 {
	hits, total := 0, 0
	for q, nearest := range truth {
		total += len(nearest)
		for _, row := range nearest {
			if slices.Contains(found[q], row) {
				hits++
			}
		}
	}
	return float64(hits) / float64(max(1, total))
}
