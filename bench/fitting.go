package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"

	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/vq"
)

// Settings that both sides fit with.
const (
	fitCodes      = 256
	fitPositions  = 4
	fitIterations = 25
	fitRows       = 20000 // of the built-in set
)

// fittingRows compares the errors of the classical quantizers with FAISS's, on the
// same vectors with the same number of codes and iterations. GRITVQ_FIT_VECTORS
// names another file of vectors.
func fittingRows(ctx context.Context, p *peers, _ int) ([]row, error) {
	path := os.Getenv("GRITVQ_FIT_VECTORS")
	if path == "" {
		path = fmt.Sprintf("synthetic:manifold?rows=%d", fitRows)
	}
	sample, err := readSample(ctx, path)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gritvq-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	shared := filepath.Join(dir, "vectors.npy")
	if err := writeSample(shared, sample); err != nil {
		return nil, err
	}
	peer, absent := p.run(ctx, "bench/faiss_fit.py", shared, "--codes", strconv.Itoa(fitCodes),
		"--positions", strconv.Itoa(fitPositions), "--iterations", strconv.Itoa(fitIterations))
	var rows []row
	for _, rival := range []struct {
		method string
		limit  float64 // 0: no claim
	}{{"kmeans", 1.02}, {"pq", 1.02}, {"opq", 0}, {"rq", 0}} {
		begun := time.Now()
		ours, err := fitError(ctx, rival.method, sample)
		if err != nil {
			return nil, err
		}
		took := time.Since(begun)
		name := fmt.Sprintf("error of %s %d x %d, %d x %d-d", rival.method, fitPositions, fitCodes, sample.N, sample.Dim)
		if absent != nil {
			rows = append(rows, row{Name: name, Ours: report.Number(ours, 4), Reason: absent.Error()})
			continue
		}
		theirs := peer[rival.method].(map[string]any)
		mse := theirs["mse"].(float64)
		r := row{Name: name, Ours: fmt.Sprintf("%s in %s", report.Number(ours, 4), report.Duration(took)),
			Peer: fmt.Sprintf("%s in %s", report.Number(mse, 4), seconds(theirs["seconds"].(float64))), Ratio: ours / mse, Claim: "-", Holds: true}
		if rival.limit > 0 {
			r.Claim, r.Holds = fmt.Sprintf("<= %gx the error", rival.limit), ours/mse <= rival.limit
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// fitError fits a method and returns the mean squared error of the sample over
// all elements.
func fitError(ctx context.Context, method string, sample vq.Sample) (float64, error) {
	c, err := vq.Defaults(method)
	if err != nil {
		return 0, err
	}
	c.Codes = fitCodes
	c.Arrange(fitPositions, 1)
	fitted, err := vq.Fit(ctx, c, sample, vq.FitOptions{Seed: 1, Iterations: fitIterations})
	if err != nil {
		return 0, err
	}
	return meanSquare(c, fitted, sample)
}

// meanSquare encodes and decodes the sample with fitted codes.
func meanSquare(c vq.Config, fitted vq.Fitted, sample vq.Sample) (float64, error) {
	var parts []*index.Residual
	for part := range c.Parts {
		vars := fitted.Variables
		if c.Parts > 1 {
			vars = vars.Sub(fmt.Sprintf("part%d", part))
		}
		var levels []*index.Codes
		for l := range c.Levels {
			book := vars[fmt.Sprintf("level%d/codes", l)]
			codes, err := index.NewCodes(book.Data, book.Shape[0], book.Shape[1])
			if err != nil {
				return 0, err
			}
			levels = append(levels, codes)
		}
		stack, err := index.NewResidual(levels...)
		if err != nil {
			return 0, err
		}
		parts = append(parts, stack)
	}
	search, err := index.NewProduct(parts...)
	if err != nil {
		return 0, err
	}
	x := sample.Rows
	if r := fitted.Rotation; r != nil { // a rotation keeps distances
		x = make([]float32, len(sample.Rows))
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, blas32.General{Rows: sample.N, Cols: sample.Dim, Stride: sample.Dim, Data: sample.Rows},
			blas32.General{Rows: sample.Dim, Cols: sample.Dim, Stride: sample.Dim, Data: r.Data},
			0, blas32.General{Rows: sample.N, Cols: sample.Dim, Stride: sample.Dim, Data: x})
	}
	codes, decoded := make([]uint32, sample.N*fitPositions), make([]float32, len(x))
	search.Encode(x, sample.N, 0, c.Beam(), codes, 0)
	if err := search.Decode(codes, sample.N, 0, decoded); err != nil {
		return 0, err
	}
	total := 0.0
	for i, v := range decoded {
		total += float64(v-x[i]) * float64(v-x[i])
	}
	return total / float64(len(x)), nil
}

func readSample(ctx context.Context, path string) (vq.Sample, error) {
	v, err := vectors.Open(ctx, path, vectors.Options{})
	if err != nil {
		return vq.Sample{}, err
	}
	defer v.Close()
	s := vq.Sample{Rows: make([]float32, v.Len()*v.Dim()), N: v.Len(), Dim: v.Dim()}
	return s, v.Rows(0, v.Len(), s.Rows)
}

func writeSample(path string, s vq.Sample) error {
	w, err := vectors.Create(path, s.Dim, s.N)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.WriteRows(s.Rows); err != nil {
		return err
	}
	return w.Commit()
}
