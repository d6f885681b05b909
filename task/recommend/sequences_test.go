package recommend

import (
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task"
)

// SASRec learns what follows what, from one whole sequence a user, and is trained, stored,
// scored and asked as the others are.
func TestSASRec(t *testing.T) {
	log, table := carousel(t, 60, 12)
	d := fromLog(t, log, table)
	classes, err := d.byRoom([]int{2, 6}, true, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(classes) != 1 || len(classes[0].examples) != 60 || len(d.Example(classes[0].examples[3]).History) != 6 {
		t.Errorf("classes of whole sequences: %+v", classes)
	}
	fitted := DefaultSASRec()
	if note := fitTo(d, fitted, Free{Network: true, Steps: true}, 2); fitted.Train.Steps >= 20000 || fitted.Model != DefaultSASRec().Model {
		t.Errorf("fitted to two cores: %s, %+v", note, fitted)
	}
	const shop = "synthetic:shop?users=150&items=60"
	ids, source := shopIDs(t, shop), Log(shop, interactions.Options{})
	for _, loss := range []string{"softmax", "binary"} {
		c := DefaultSASRec()
		c.Model.Layers, c.Model.Width, c.Model.Heads, c.Model.HeadDim, c.Model.FeedForward, c.Model.Length = 1, 16, 2, 8, 16, 8
		c.Model.Loss, c.Model.Dropout = loss, 0
		c.Train.Steps, c.Train.Evaluate, c.Train.Batch, c.Train.Optimizer.Rate = 150, 50, 32, 0.01
		dir := filepath.Join(t.TempDir(), "model")
		train := TrainOptions{Config: c, IDs: ids, Source: source, Dir: dir, Backend: "go"}
		if _, err := TrainModel(t.Context(), train, task.Silent{}); err != nil {
			t.Fatal(err)
		}
		e, err := Evaluate(t.Context(), EvalOptions{Dir: dir, Source: source, Backend: "go"}, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		popular := e.References[0].Against[0]
		if popular.Model < 1.5*popular.Reference {
			t.Errorf("%s: a recall of %g, popularity has %g", loss, popular.Model, popular.Reference)
		}
		o := AskOptions{Dir: dir, Purpose: Recommending, History: []string{"item1", "item2"}, Count: 5, Backend: "go"}
		if a, err := Ask(t.Context(), o, task.Silent{}); err != nil || len(a.Items) != 5 {
			t.Errorf("%+v, %v", a, err)
		}
		o.History = nil
		if a, err := Ask(t.Context(), o, task.Silent{}); err != nil || len(a.Items) != 5 {
			t.Errorf("someone new: %+v, %v", a, err)
		}
	}
}
