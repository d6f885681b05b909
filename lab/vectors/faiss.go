package vectors

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/dataset/vectors"
)

//go:embed faiss_peer.py
var faissPeer string

// faissMethods are those of faiss_peer.py.
var faissMethods = []string{"faiss-rq-default", "faiss-rq", "faiss-lsq-default", "faiss-lsq"}

func (b *bench) measureFAISS(ctx context.Context, dir string, r *Record) ([]float32, error) {
	errors := filepath.Join(dir, "errors.npy")
	command := exec.CommandContext(ctx, b.Python, "-", filepath.Join(dir, "train.npy"), filepath.Join(dir, "test.npy"), "--method", r.Method,
		"--levels", strconv.Itoa(r.Levels), "--codes", strconv.Itoa(r.Codes), "--seed", strconv.FormatUint(r.Seed, 10), "--errors", errors)
	command.Env = append(os.Environ(), "OMP_NUM_THREADS="+strconv.Itoa(runtime.GOMAXPROCS(0))) // as many as ours have
	var failure bytes.Buffer
	command.Stdin, command.Stderr = strings.NewReader(faissPeer), &failure
	printed, err := command.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(failure.String()), "\n")
		return nil, fmt.Errorf("FAISS failed (%w): %s; make faiss installs it", err, lines[len(lines)-1])
	}
	var result struct {
		Version string  `json:"faiss"`
		Seconds float64 `json:"seconds"`
		Encode  float64 `json:"encode_seconds"`
	}
	// FAISS prints warnings before the result.
	if err := json.Unmarshal(printed[bytes.LastIndexByte(printed[:len(printed)-1], '\n')+1:], &result); err != nil {
		return nil, fmt.Errorf("FAISS's result cannot be read: %w", err)
	}
	r.Software, r.Seconds, r.Encode = "FAISS "+result.Version, round(result.Seconds), round(result.Encode)
	v, err := vectors.Open(ctx, errors, vectors.Options{})
	if err != nil {
		return nil, err
	}
	defer v.Close()
	rows := make([]float32, v.Len())
	return rows, v.Rows(0, v.Len(), rows)
}
