package config

import "testing"

func TestAssigns(t *testing.T) {
	sets := []string{"train.evaluate = 3", "model=x"}
	for key, want := range map[string]bool{"train.evaluate": true, "train": false, "model.width": true, "modelling": false} {
		if Assigns(sets, key) != want {
			t.Errorf("%s: %v", key, !want)
		}
	}
}
