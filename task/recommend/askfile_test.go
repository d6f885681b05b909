package recommend

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gritvq/gritvq/dataset/interactions"
	"github.com/gritvq/gritvq/task"
)

// The answers of many users in a file are those that each is given alone.
func TestAskMany(t *testing.T) {
	const shop = "synthetic:shop?users=60&items=40"
	dir := t.TempDir()
	settings := Settings{Purpose: Recommending, Model: "itemknn", Set: []string{"model.shrink=3"}}
	c, err := settings.Config()
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(dir, "knn")
	train := TrainOptions{Config: c, IDs: shopIDs(t, shop), Source: Log(shop, interactions.Options{}), Dir: model, Backend: "go"}
	if _, err := TrainModel(t.Context(), train, task.Silent{}); err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(dir, "users.txt")
	if err := os.WriteFile(users, []byte("ann item1 item2\nben item9\ncid item7 item1 item30\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := AskManyOptions{AskOptions: AskOptions{Dir: model, Count: 4, Backend: "go"}, Users: users, Output: filepath.Join(dir, "recs.parquet")}
	asked, err := AskMany(t.Context(), o, task.Silent{})
	if err != nil || asked.Users != 3 || asked.Answers != 12 {
		t.Fatalf("%+v (%v)", asked, err)
	}
	rows, err := parquet.ReadFile[userAnswer](o.Output)
	if err != nil || len(rows) != 12 {
		t.Fatalf("%d rows (%v)", len(rows), err)
	}
	for u, history := range [][]string{{"item1", "item2"}, {"item9"}, {"item7", "item1", "item30"}} {
		single := o.AskOptions
		single.Purpose, single.History = Recommending, history
		want, err := Ask(t.Context(), single, task.Silent{})
		if err != nil {
			t.Fatal(err)
		}
		for i, item := range want.Items {
			if got := rows[4*u+i]; got.User != []string{"ann", "ben", "cid"}[u] || int(got.Rank) != i+1 || got.Item != item.Item ||
				got.Score != item.Score {
				t.Errorf("row %d is %+v, want %+v", 4*u+i, got, item)
			}
		}
	}
}
