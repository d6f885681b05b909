package tokenize

import (
	"context"
	"fmt"
	"slices"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/eval"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

const (
	projectedRows  = 3000
	projectedCodes = 2000
)

// projection draws latents and first-level codes in the plane of the latents' first two principal components.
func (t *training) projection(ctx context.Context, b *bundle.Bundle, runtime *tokenizer.Runtime) (report.Scatter, error) {
	rows := t.data.Train.Head(projectedRows)
	chosen := make([]int, rows.Len())
	for i := range chosen {
		chosen[i] = rows.At(i)
	}
	x, _, err := t.data.Set.Read(chosen)
	if err != nil {
		return report.Scatter{}, err
	}
	z, err := runtime.Latents(ctx, x)
	if err != nil {
		return report.Scatter{}, err
	}
	book := b.Codebooks[0]
	width, dim := book.Shape[1], b.Manifest.Layout.Dim
	if width < dim { // the first part's slice of the latents
		for i := range chosen {
			copy(z[i*width:(i+1)*width], z[i*dim:i*dim+width])
		}
		z = z[:len(chosen)*width]
	}
	pca, err := eval.FitPCA(z, len(chosen), width)
	if err != nil {
		return report.Scatter{}, err
	}
	latents := report.Layer{Name: "latents", Size: 1.4, Opacity: 0.35}
	used, dead := report.Layer{Name: "codes in use", Marker: report.Ringed}, report.Layer{Name: "dead codes", Marker: report.Hollow}
	points, err := pca.Project(z)
	if err != nil {
		return report.Scatter{}, err
	}
	for _, p := range points {
		latents.X, latents.Y = append(latents.X, p[0]), append(latents.Y, p[1])
	}
	if points, err = pca.Project(book.Data); err != nil {
		return report.Scatter{}, err
	}
	for i, p := range points[:min(len(points), projectedCodes)] {
		layer, count := &used, b.Usage[0][i]
		if count == 0 {
			layer = &dead
		}
		layer.X, layer.Y = append(layer.X, p[0]), append(layer.Y, p[1])
		layer.Labels = append(layer.Labels, fmt.Sprintf("code %d, chosen %s times", i, report.Count(int(count))))
	}
	return report.Scatter{
		Title: "Latents and the codes of " + positionName(b.Manifest.Layout, 0),
		Caption: fmt.Sprintf("The plane shows %s of the variance. Codes should lie where the latents are; hollow ones were never chosen.",
			report.Percent(pca.Explained[0]+pca.Explained[1], 0)),
		XLabel: "first principal component", YLabel: "second principal component", EqualUnits: true,
		Layers: slices.DeleteFunc([]report.Layer{latents, used, dead}, func(l report.Layer) bool { return len(l.X) == 0 }),
	}, nil
}
