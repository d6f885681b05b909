package tokenizer

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/vq"
)

// Searches through codes agree with a plain search through all reconstructions.
func TestCodedRowsAreSearchedAsTheirReconstructions(t *testing.T) {
	conditional := quantizer(t, "grit", 1)
	conditional.Transform.Levels, conditional.Transform.Hidden = "affine", 8
	cosine := quantizer(t, "ema", 1)
	cosine.Distance, cosine.Levels = vq.Cosine, 1
	one := quantizer(t, "ema", 1)
	one.Levels = 1
	themselves, perFeature := models["vectors themselves"], models["vectors themselves"]
	perFeature.Standardize = "feature"
	for name, test := range map[string]struct {
		model  Config
		q      vq.Config
		tables bool
	}{
		"residual":          {themselves, quantizer(t, "grit", 1), true},
		"one level":         {themselves, one, true},
		"product":           {themselves, quantizer(t, "ema", 2), true},
		"conditional":       {themselves, conditional, false},
		"cosine":            {themselves, cosine, false},
		"scale per feature": {perFeature, quantizer(t, "grit", 1), false},
		"network":           {models["network"], quantizer(t, "grit", 2), false},
	} {
		t.Run(name, func(t *testing.T) {
			const n, queries, dim, k = 600, 9, 8, 7
			tok, set := newTokenizer(t, test.model, test.q, dim)
			r := runtime(t, tok, set)
			codes := encode(t, r, sampleRows(n, dim, 4), n, Options{})
			rows, err := r.NewCodedRows(r.Positions(Options{}))
			if err != nil {
				t.Fatal(err)
			}
			if rows.Tables() != test.tables {
				t.Fatalf("tables: %v, want %v", rows.Tables(), test.tables)
			}
			half := n / 2 * r.Positions(Options{})
			for _, part := range [][]uint32{codes[:half], codes[half:]} {
				if err := rows.Add(part); err != nil {
					t.Fatal(err)
				}
			}
			x := sampleRows(queries, dim, 8)
			items, distances := make([]uint32, queries*k), make([]float32, queries*k)
			if err := rows.Search(t.Context(), x, queries, k, items, distances, 0, nil); err != nil {
				t.Fatal(err)
			}
			decoded, err := r.Decode(t.Context(), codes, n, r.Positions(Options{}))
			if err != nil {
				t.Fatal(err)
			}
			for q := range queries {
				var all []float64
				for i := range n {
					all = append(all, index.SquaredDistance(x[q*dim:(q+1)*dim], decoded.Values[i*dim:(i+1)*dim]))
				}
				sorted := slices.Clone(all)
				slices.SortFunc(sorted, cmp.Compare)
				seen := map[uint32]bool{}
				for i := range k {
					item, distance := items[q*k+i], float64(distances[q*k+i])
					// Latents are rounded otherwise than reconstructions: near ties may change places.
					if want := sorted[i]; math.Abs(distance-want) > 1e-5*want+1e-6 || math.Abs(all[item]-want) > 1e-5*want+1e-6 {
						t.Errorf("query %d, place %d: row %d at %v, want %v", q, i, item, distance, want)
					}
					if seen[item] {
						t.Errorf("query %d: row %d twice", q, item)
					}
					seen[item] = true
				}
			}
		})
	}
}

func TestCodedRowsErrors(t *testing.T) {
	tok, set := newTokenizer(t, models["vectors themselves"], quantizer(t, "ema", 2), 8)
	r := runtime(t, tok, set)
	if _, err := r.NewCodedRows(3); err == nil || !strings.Contains(err.Error(), "2 parts x 3 levels") {
		t.Errorf("3 codes of 2 parts: %v", err)
	}
	rows, err := r.NewCodedRows(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Add([]uint32{0, 1, 2}); err == nil || !strings.Contains(err.Error(), "3 codes are not rows of 2") {
		t.Errorf("half a row: %v", err)
	}
	if err := rows.Add([]uint32{0, 20}); err == nil || !strings.Contains(err.Error(), "outside its codebook of 20") {
		t.Errorf("no such code: %v", err)
	}
}
