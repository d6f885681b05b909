package compare

import (
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
