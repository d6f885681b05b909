// Package vectors compares quantizers of vectors at equal bits on held-out rows: ours, and
// FAISS's as references.
package vectors

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/version"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Options choose the cells of the comparison.
type Options struct {
	Data    string // directory of the data sets
	Sets    []string
	Methods []string
	Sizes   []string // LEVELSxCODES
	Seeds   int      // 0: only the page is made again
	Limit   time.Duration
	Python  string // interpreter that has FAISS
	Output  string // directory of the page and its records
	Command string
}

// Run measures the cells that have no record yet and writes the page.
func Run(ctx context.Context, o Options, watch task.Watcher) error {
	page, err := openPage(o.Output)
	if err != nil {
		return err
	}
	records, err := table.ReadLines[Record](page.Path(".jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b := &bench{Options: o, watch: watch, records: records, store: page.Path(".jsonl")}
	if err := b.run(ctx); err != nil {
		return err
	}
	return write(page, b.records)
}

type bench struct {
	Options
	watch   task.Watcher
	records []Record
	store   string
}

func (b *bench) run(ctx context.Context) error {
	for seed := range uint64(b.Seeds) {
		for _, name := range b.Sets {
			from, err := sourceNamed(name)
			if err != nil {
				return err
			}
			cells, err := b.missing(name, seed+1)
			if err != nil || len(cells) == 0 {
				if err != nil {
					return err
				}
				continue
			}
			data, err := from.open(ctx, b.Data)
			if err != nil {
				b.watch.Remark("%s is left out: %v", name, err)
				continue
			}
			if err := b.measureAll(ctx, data, cells); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing lists the cells of a set without a successful record.
func (b *bench) missing(set string, seed uint64) ([]Record, error) {
	var cells []Record
	for _, size := range b.Sizes {
		for _, method := range b.Methods {
			r := Record{Set: set, Method: method, Seed: seed}
			if n, _ := fmt.Sscanf(size, "%dx%d", &r.Levels, &r.Codes); n != 2 {
				return nil, fmt.Errorf("size %q: write levels x codes, such as 4x256", size)
			}
			if !slices.ContainsFunc(b.records, func(other Record) bool { return other.Cell() == r.Cell() && other.Failed == "" }) {
				cells = append(cells, r)
			}
		}
	}
	return cells, nil
}

// measureAll measures cells of one data set, and stores each record at once.
func (b *bench) measureAll(ctx context.Context, data split, cells []Record) error {
	dir, err := os.MkdirTemp("", "gritvq-vectors-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for file, rows := range map[string][]float32{"train.npy": data.train, "test.npy": data.test} {
		if err := vectors.Write(filepath.Join(dir, file), data.dim, rows); err != nil {
			return err
		}
	}
	for _, r := range cells {
		r.Command, r.Commit, r.Hardware = b.Command, commit(ctx), table.Hardware()
		r.Date = time.Now().UTC().Format(time.DateOnly)
		limited, cancel := context.WithTimeout(ctx, cmp.Or(b.Limit, time.Hour))
		errors, err := b.measure(limited, dir, data, &r)
		over := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case over:
			r.Failed = fmt.Sprintf("not done after %s", b.Limit)
		case err != nil:
			r.Failed, _, _ = strings.Cut(err.Error(), "\n")
		default:
			r.score(data, errors)
		}
		b.watch.Remark("%s: error %.4f in %s%s", r.Cell(), r.Error, table.Seconds(r.Seconds), r.Failed)
		b.records = slices.DeleteFunc(b.records, func(other Record) bool { return other.Cell() == r.Cell() })
		b.records = append(b.records, r)
		if err := atomicfile.WriteJSON(b.store, "", b.records...); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the squared error of every test row.
func (b *bench) measure(ctx context.Context, dir string, data split, r *Record) ([]float32, error) {
	if slices.Contains(faissMethods, r.Method) {
		return b.measureFAISS(ctx, dir, r)
	}
	return measureOwn(ctx, dir, data, r)
}

// measureOwn trains a tokenizer with its defaults on all training rows; rows for choices
// are taken from these.
func measureOwn(ctx context.Context, dir string, data split, r *Record) ([]float32, error) {
	settings := tokenize.Settings{Preset: "default", Final: func(c *vqtrain.Config) {
		c.Quantizer.Method, c.Seed, c.Train.Split = r.Method, r.Seed, 1
		c.Quantizer.Codes = r.Codes
		c.Quantizer.Arrange(r.Levels, 1)
	}}
	c, err := settings.ConfigOf(r.Method)
	if err != nil {
		return nil, err
	}
	if r.Config, err = config.Hash(c); err != nil {
		return nil, err
	}
	r.Software = version.CreatedBy()
	out := filepath.Join(dir, "tokenizer")
	defer os.RemoveAll(out)
	begun := time.Now()
	_, err = tokenize.Train(ctx, tokenize.TrainOptions{Config: c, Input: tokenize.Input{Path: filepath.Join(dir, "train.npy")},
		Output: out, Backend: "go", Command: r.Command}, task.Silent{})
	if err != nil {
		return nil, err
	}
	r.Seconds = round(time.Since(begun).Seconds())
	opened, err := tokenize.Open(out, "go")
	if err != nil {
		return nil, err
	}
	defer opened.Runtime.Close()
	begun = time.Now()
	n := len(data.test) / data.dim
	codes, err := opened.Runtime.Encode(ctx, dataset.VectorBatch(data.test, n), tokenizer.Options{})
	if err != nil {
		return nil, err
	}
	r.Encode = round(time.Since(begun).Seconds())
	decoded, err := opened.Runtime.Decode(ctx, codes, n, len(codes)/n)
	if err != nil {
		return nil, err
	}
	errors := make([]float32, n)
	for i := range errors {
		errors[i] = float32(index.SquaredDistance(data.test[i*data.dim:(i+1)*data.dim], decoded.Values[i*data.dim:(i+1)*data.dim]))
	}
	return errors, nil
}

//go:embed faiss_peer.py
var faissPeer string

// faissMethods are those of faiss_peer.py.
var faissMethods = []string{"faiss-rq-default", "faiss-rq", "faiss-lsq"}

func (b *bench) measureFAISS(ctx context.Context, dir string, r *Record) ([]float32, error) {
	errors := filepath.Join(dir, "errors.npy")
	command := exec.CommandContext(ctx, b.Python, "-", filepath.Join(dir, "train.npy"), filepath.Join(dir, "test.npy"), "--method", r.Method,
		"--levels", strconv.Itoa(r.Levels), "--codes", strconv.Itoa(r.Codes), "--seed", strconv.FormatUint(r.Seed, 10), "--errors", errors)
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

// commit is the checked out commit, with a mark if files differ from it.
func commit(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(head))
	if exec.CommandContext(ctx, "git", "diff", "--quiet", "HEAD", "--", "*.go").Run() != nil {
		name += "+changes"
	}
	return name
}
