package tokenize

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/tokenizer"
)

// SF-DiVeQ is scored by its codes and, as published, by points of the curve, which are nearer.
func TestBothScoresOfSpaceFillingDiVeQ(t *testing.T) {
	o := TrainOptions{
		Config: configure(t, false, "quantizer.method=sf-diveq", "quantizer.codes=8", "quantizer.levels=2", "model.hidden=[]",
			"model.dim=0", "train.steps=20", "train.batch=32"),
		Input: Input{Path: mixture}, Output: filepath.Join(t.TempDir(), "tok"), Backend: "go", Command: "a test",
	}
	trained, err := Train(t.Context(), o, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	held := trained.Bundle.Manifest.Metrics.Held
	if held.Curve == nil || !(held.Curve.RelativeError < held.RelativeError) {
		t.Errorf("the curve scores %+v, the codes %g", held.Curve, held.RelativeError)
	}
	options := EvaluateOptions{CodingOptions: CodingOptions{Dir: o.Output, Input: mixture, Backend: "go", Curve: true}}
	scores, err := Evaluate(t.Context(), options, task.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(scores)
	var read tokenizer.Scores
	if err == nil {
		err = json.Unmarshal(content, &read)
	}
	if err != nil || read.Curve == nil || !(read.Curve.MSE < read.MSE) || !strings.Contains(scores.Tables[0].Rows[3][0].Text, "on the curve") {
		t.Errorf("%s, %v", content, err)
	}
	other, _ := trainVectors(t)
	options.Dir = other.Dir
	if _, err := Evaluate(t.Context(), options, task.Silent{}); err == nil || !strings.Contains(err.Error(), "--curve") {
		t.Errorf("the curve of another method gave %v", err)
	}
}
