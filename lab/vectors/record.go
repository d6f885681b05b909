package vectors

import (
	"errors"
	"fmt"
	"math"
)

// Record is a method on one data set: a line of vectors.jsonl.
type Record struct {
	Set      string  `json:"set"`
	Method   string  `json:"method"`
	Levels   int     `json:"levels"`
	Codes    int     `json:"codes"`
	Seed     uint64  `json:"seed"`
	Rows     int     `json:"rows"` // trained on
	Test     int     `json:"test"` // rows scored
	Dim      int     `json:"dim"`
	Error    float64 `json:"error"`   // sum |x - x^|^2 / sum |x - mean|^2 over test rows, mean of the training rows
	Seconds  float64 `json:"seconds"` // of training
	Encode   float64 `json:"encode_seconds"`
	Config   string  `json:"config_hash,omitempty"`
	Software string  `json:"software"` // of the method
	Command  string  `json:"command"`
	Commit   string  `json:"commit"`
	Hardware string  `json:"hardware"`
	Date     string  `json:"date"`
	Failed   string  `json:"failed,omitempty"`
	// Folds are the shares of groups of test rows in the error: they add up to it. Differences
	// between methods, fold by fold, give its standard error.
	Folds []float64 `json:"folds,omitempty"`
}

// Check reports missing fields.
func (r Record) Check() error {
	if r.Set == "" || r.Method == "" || r.Levels < 1 || r.Codes < 2 {
		return errors.New("a record needs a set, a method, levels and codes")
	}
	return nil
}

// Cell names what a record measures.
func (r Record) Cell() string {
	return fmt.Sprintf("%s %s %dx%d seed %d", r.Set, r.Method, r.Levels, r.Codes, r.Seed)
}

// score fills in the error of test rows with given squared errors.
func (r *Record) score(s split, errors []float32) {
	mean := make([]float64, s.dim)
	for i, x := range s.train {
		mean[i%s.dim] += float64(x)
	}
	for j := range mean {
		mean[j] *= float64(s.dim) / float64(len(s.train))
	}
	total := 0.0
	for i, x := range s.test {
		gap := float64(x) - mean[i%s.dim]
		total += gap * gap
	}
	r.Rows, r.Test, r.Dim = len(s.train)/s.dim, len(s.test)/s.dim, s.dim
	r.Folds = make([]float64, s.fold[len(s.fold)-1]+1)
	for i, e := range errors {
		r.Folds[s.fold[i]] += float64(e) / total
	}
	r.Error = 0
	for i, share := range r.Folds {
		r.Error += share
		r.Folds[i] = round(share)
	}
	r.Error = round(r.Error)
}

// round keeps six digits: records stay short.
func round(x float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

// difference is the mean of a's error less b's over the seeds that both have, and its
// standard error over folds. Seeds is 0 if they share none.
func difference(a, b []Record) (mean, deviation float64, seeds int) {
	var gaps []float64
	for _, x := range a {
		for _, y := range b {
			if x.Seed != y.Seed || len(x.Folds) != len(y.Folds) {
				continue
			}
			if gaps == nil {
				gaps = make([]float64, len(x.Folds))
			}
			seeds++
			for i := range x.Folds {
				gaps[i] += x.Folds[i] - y.Folds[i]
			}
		}
	}
	if seeds == 0 {
		return math.NaN(), math.NaN(), 0
	}
	for i := range gaps {
		gaps[i] /= float64(seeds)
		mean += gaps[i]
	}
	n := float64(len(gaps))
	for _, gap := range gaps {
		deviation += (gap - mean/n) * (gap - mean/n)
	}
	return mean, math.Sqrt(deviation * n / (n - 1)), seeds
}
