package report

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var samplePath = flag.String("page", "", "also write the sample page to this file, to look at it")

func TestSamplePageOnRequest(t *testing.T) {
	if *samplePath == "" {
		t.Skip("no -page given")
	}
	if err := samplePage().WriteFile(*samplePath); err != nil {
		t.Fatal(err)
	}
}

// samplePage is a page with every kind of part and made-up numbers, of the
// size a training run produces.
func samplePage() *Page {
	random := rand.New(rand.NewPCG(7, 7))
	page := New("Tokenizer training report", "A sample with made-up numbers: a vector tokenizer with 1,024 codes, trained for 20,000 steps "+
		"on synthetic embeddings.")
	page.Facts([]Fact{
		{Name: "reconstruction error", Value: PlusMinus(0.012345, 0.00021), Note: "mean and deviation of 3 seeds"},
		{Name: "codes in use", Value: Percent(0.982, 1), Note: "1,006 of 1,024"},
		{Name: "perplexity", Value: Number(811.3, 4)},
		{Name: "training time", Value: Duration(12*time.Minute + 41*time.Second), Note: "26 steps/s"},
	})
	page.Section("Training", "The error should fall and stay down; codes in use should stay near 100%.", sampleLoss(random), sampleUse(random))
	counts := sampleCounts(random, 1024, 18)
	page.Section("Codebook", "A healthy codebook uses every code, none of them for most of the data.",
		BarChart{Title: "How often each code is chosen", Caption: "Look for tall spikes and empty stretches: a flat profile is a full codebook.",
			XLabel: "code", YLabel: "assignments", Values: counts},
		LineChart{Title: "Share of assignments by rank",
			Caption: "The flatter the line and the further right it reaches, the better the codes share the work.",
			XLabel:  "rank of the code", YLabel: "share of assignments", LogX: true, LogY: true,
			Series: []Series{RankSeries("GRIT", counts), RankSeries("plain VQ", sampleCounts(random, 1024, 620))}},
		sampleProjection(random))
	page.Section("Comparison", "", sampleTable(),
		PointChart{Title: "Image quality", Caption: "Higher is better. The axis does not start at zero.", YLabel: "PSNR (dB)",
			Groups: []string{"K = 256", "K = 1,024", "K = 4,096", "K = 16,384"},
			Values: []float64{24.9, 26.4, 27.6, math.NaN()}, Errors: []float64{0.1, 0.12, 0.1, math.NaN()}})
	page.Section("Reproduce", "", Paragraph("The run is determined by its configuration and seed; both are stored beside the checkpoint."),
		Code{Caption: "The command that made this page",
			Text: "gritvq train --config configs/demo.yaml --set train.steps=20000 --seed 1\ngritvq report runs/demo"})
	page.Footer("gritvq sample page. All numbers are made up.")
	return page
}

func sampleLoss(random *rand.Rand) LineChart {
	const n = 20000
	train, x := make([]float64, n), make([]float64, n)
	for i := range train {
		x[i] = float64(i)
		train[i] = (0.9*math.Exp(-float64(i)/900) + 0.03*math.Exp(-float64(i)/9000) + 0.012) * math.Exp(0.22*random.NormFloat64())
	}
	train[7000] = 0.4
	train[7001] = math.NaN()
	var held Series
	held.Name = "validation"
	for i := 0; i <= n; i += 250 {
		v := 0.9*math.Exp(-float64(i)/900) + 0.03*math.Exp(-float64(i)/9000) + 0.0135
		held.X, held.Y = append(held.X, float64(i)), append(held.Y, v)
		held.Low, held.High = append(held.Low, v*0.9), append(held.High, v*1.1)
	}
	raw := Series{Name: "training", X: x, Y: train}
	return LineChart{Title: "Loss", Caption: "Validation should follow training; the band is one standard deviation over 3 seeds.",
		XLabel: "step", YLabel: "mean squared error", LogY: true,
		Series: []Series{raw, held}, Marks: []Mark{{1000, "warm-up ends"}, {12000, "learning rate / 10"}}}
}

func sampleUse(random *rand.Rand) LineChart {
	chart := LineChart{Title: "Codes in use", Caption: "A line that falls and does not recover is a collapsing codebook.", XLabel: "step",
		YLabel: "share of codes used (%)"}
	for k, name := range []string{"GRIT", "plain VQ", "rotation trick"} {
		s := Series{Name: name}
		for i := 0; i <= 20000; i += 500 {
			s.X = append(s.X, float64(i))
			s.Y = append(s.Y, []float64{98, 40, 85}[k]-[]float64{20, -45, 10}[k]*math.Exp(-float64(i)/3000)+random.NormFloat64())
		}
		chart.Series = append(chart.Series, s)
	}
	return chart
}

func sampleCounts(random *rand.Rand, codes, dead int) []float64 {
	counts := make([]float64, codes)
	for i := range counts {
		if i >= dead {
			counts[i] = math.Round(90 * math.Exp(0.6*random.NormFloat64()))
		}
	}
	random.Shuffle(codes, func(i, j int) { counts[i], counts[j] = counts[j], counts[i] })
	return counts
}

func sampleProjection(random *rand.Rand) Scatter {
	latents := Layer{Name: "latents", Size: 1.4, Opacity: 0.35}
	codes := Layer{Name: "codes in use", Size: 4, Marker: Ringed}
	dead := Layer{Name: "dead codes", Size: 4, Marker: Hollow}
	for i := range 60000 {
		angle := float64(i%7) * 2 * math.Pi / 7
		latents.X = append(latents.X, 3*math.Cos(angle)+0.7*random.NormFloat64())
		latents.Y = append(latents.Y, 2*math.Sin(angle)+0.5*random.NormFloat64())
	}
	for i := range 70 {
		codes.X, codes.Y = append(codes.X, latents.X[i*31]), append(codes.Y, latents.Y[i*31])
		codes.Labels = append(codes.Labels, fmt.Sprintf("code %d, used %d times", i, 50+i))
	}
	for range 6 {
		dead.X, dead.Y = append(dead.X, 0.5*random.NormFloat64()), append(dead.Y, 0.4*random.NormFloat64())
	}
	return Scatter{Title: "Latents and codes", Caption: "Codes should lie where the latents are. Hollow rings are codes that nothing " +
		"chose: they sit in empty space.",
		XLabel: "first principal component", YLabel: "second principal component", EqualUnits: true, Layers: []Layer{latents, codes, dead}}
}

func sampleTable() Table {
	t := Table{Title: "Methods at K = 1,024", Caption: "Best of each column in bold.",
		Columns: []Column{{Name: "method"}, {Name: "error", Note: "mean squared error on held-out data, lower is better"},
			{Name: "codes in use"}, {Name: "perplexity"}, {Name: "time"}, {Name: "remark"}}}
	t.Rows = [][]Cell{
		{{Text: "GRIT", Strong: true}, {Text: PlusMinus(0.01213, 0.00041), Strong: true}, {Text: "98.2%", Strong: true},
			{Text: "811", Strong: true}, {Text: "12m 41s"}, {Text: "radius family: exponential"}},
		Cells("rotation trick", PlusMinus(0.01441, 0.0006), "84.9%", "604", "13m 02s", ""),
		{{Text: "plain VQ", Muted: true}, {Text: PlusMinus(0.0187, 0.0012), Muted: true}, {Text: "39.6%", Muted: true},
			{Text: "188", Muted: true}, {Text: "12m 10s", Muted: true}, {Text: "baseline", Muted: true}},
	}
	return t
}

// sampleCharts is every chart of the sample page and the awkward ones.
func sampleCharts() map[string]Chart {
	random := rand.New(rand.NewPCG(3, 3))
	nan, inf := math.NaN(), math.Inf(1)
	charts := map[string]Chart{
		"loss":       sampleLoss(random),
		"projection": sampleProjection(random),
		"empty":      LineChart{Title: "t", Series: []Series{{Name: "none"}}},
		"empty log":  LineChart{LogX: true, LogY: true, Series: []Series{{Name: "none", Y: []float64{0, -1, nan}}}},
		"one point":  LineChart{Series: []Series{{Y: []float64{3}}}},
		"constant":   LineChart{Series: []Series{{Y: []float64{5, 5, 5, 5}}}},
		"zeros":      LineChart{Series: []Series{{Y: []float64{0, 0, 0}}}},
		"huge":       LineChart{Series: []Series{{Y: []float64{-1e300, 1e300, math.MaxFloat64}}}},
		"tiny":       LineChart{Series: []Series{{Y: []float64{5e-324, 1e-310, 3e-308}}}},
		"huge log": LineChart{LogY: true, LogX: true,
			Series: []Series{{X: []float64{1e-300, 1, 1e300}, Y: []float64{5e-324, 1e-299, 1e300}}}},
		"near": LineChart{Series: []Series{{Y: []float64{1e6, 1e6 + 1e-4, 1e6 + 2e-4}}}},
		"not finite": LineChart{Series: []Series{{X: []float64{0, nan, 2, inf}, Y: []float64{nan, 1, -inf, 2}, Low: []float64{nan, 0, 0, 0},
			High: []float64{1, 1, inf, nan}}}, Marks: []Mark{{nan, "x"}, {inf, "y"}}},
		"many series":  LineChart{Series: slices.Repeat([]Series{{Name: "a rather long series name <b>", Y: []float64{1, 2}}}, 30)},
		"bars":         BarChart{Values: []float64{1, 2, nan, -3, inf}},
		"bars zero":    BarChart{Values: make([]float64, 12)},
		"bars empty":   BarChart{},
		"bars 65536":   BarChart{Values: sampleCounts(random, 65536, 30000)},
		"groups":       PointChart{Groups: []string{"a", "b & c"}, Values: []float64{-1, nan}, Errors: []float64{2, inf}},
		"groups none":  PointChart{Groups: []string{"a", "b"}, Values: []float64{inf, nan}},
		"groups many":  PointChart{Groups: slices.Repeat([]string{"an unreasonably long name of a group"}, 40), Values: make([]float64, 40)},
		"scatter none": Scatter{Layers: []Layer{{}}},
		"scatter one":  Scatter{EqualUnits: true, Layers: []Layer{{X: []float64{1, nan}, Y: []float64{1, 2}, Labels: []string{"<p>", ""}}}},
	}
	return charts
}
