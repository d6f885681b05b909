package speed

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/tokenizer"
)

// Settings that both sides fit with.
const (
	fitCodes      = 256
	fitPositions  = 4
	fitIterations = 25
	fitSource     = "synthetic:manifold?rows=20000"
)

// fit compares the errors of classical quantizers with FAISS's. GRITVQ_FIT_VECTORS names another file of vectors.
func (b *bench) fit(ctx context.Context) ([]Row, error) {
	path := cmp.Or(os.Getenv("GRITVQ_FIT_VECTORS"), fitSource)
	v, err := vectors.Open(ctx, path, vectors.Options{})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	dir, err := os.MkdirTemp("", "gritvq-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	shared, content := filepath.Join(dir, "vectors.npy"), make([]float32, v.Len()*v.Dim()) // for FAISS's script
	if err := v.Rows(0, v.Len(), content); err != nil {
		return nil, err
	}
	if err := vectors.Write(shared, v.Dim(), content); err != nil {
		return nil, err
	}
	peer, absent := b.peer(ctx, "faiss_fit.py", shared, "--codes", strconv.Itoa(fitCodes),
		"--positions", strconv.Itoa(fitPositions), "--iterations", strconv.Itoa(fitIterations))
	var rows []Row
	for _, rival := range []struct {
		method string
		limit  float64 // 0: no claim
	}{{"kmeans", 1.02}, {"pq", 1.02}, {"opq", 0}, {"rq", 0}} {
		ours, took, err := fitError(ctx, path, rival.method)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("error of %s %d x %d, %d x %d-d", rival.method, fitPositions, fitCodes, v.Len(), v.Dim())
		if absent != nil {
			rows = append(rows, Row{Name: name, Ours: report.Number(ours, 4), Reason: absent.Error()})
			continue
		}
		theirs := peer[rival.method].(map[string]any)
		mse := theirs["mse"].(float64)
		r := Row{Name: name, Ours: fmt.Sprintf("%s in %s", report.Number(ours, 4), report.Duration(took)),
			Peer:  fmt.Sprintf("%s in %s", report.Number(mse, 4), table.Seconds(theirs["seconds"].(float64))),
			Ratio: ours / mse, Claim: "-", Holds: true}
		if rival.limit > 0 {
			r.Claim, r.Holds = fmt.Sprintf("<= %gx the error", rival.limit), ours/mse <= rival.limit
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func fitError(ctx context.Context, source, method string) (mse float64, took time.Duration, err error) {
	t, err := prepareVectors(ctx, source, method, fitIterations, func() {}, "model.hidden=[]", "model.dim=0", "model.standardize=none")
	if err != nil {
		return 0, 0, err
	}
	defer t.close()
	begun := time.Now()
	set, err := t.Run(ctx)
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(begun)
	r, err := t.Runtime(set)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	scores, _, err := r.Evaluate(ctx, t.data.Set, t.data.Train, tokenizer.Options{}, nil)
	if err != nil {
		return 0, 0, err
	}
	return scores.Summary().MSE, took, nil
}
