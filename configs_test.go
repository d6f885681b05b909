package gritvq_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/task/recommend"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// Every published configuration is complete and valid for this version, and its
// head says the command and where the result is.
func TestConfigsAreValid(t *testing.T) {
	files, err := filepath.Glob("configs/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configurations found: %v", err)
	}
	for _, file := range files {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Nothing is filled in: the file must say it all.
		command, check := "gritvq train ", validTokenizer
		switch name := filepath.Base(file); {
		case strings.HasPrefix(name, "ids-"):
			command = "gritvq ids "
		case name == "recommend-generative.yaml":
			command, check = "gritvq recommend train ", validRecommender(new(recommend.Generative))
		case name == "recommend-dual.yaml":
			command, check = "gritvq recommend train ", validRecommender(new(recommend.Dual))
		case name == "recommend-search.yaml":
			command, check = "gritvq retrieve train ", validRecommender(new(recommend.Search))
		}
		head, _, _ := strings.Cut(strings.ReplaceAll(string(document), "\nmodel:", "\nseed:"), "\nseed:")
		for _, want := range []string{command, "--config " + filepath.ToSlash(file), "results/"} {
			if !strings.Contains(head, want) {
				t.Errorf("the head of %s does not say %q", file, want)
			}
		}
		if err := check(document); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func validTokenizer(document []byte) error {
	var c vqtrain.Config
	if err := config.Decode(document, &c); err != nil {
		return err
	}
	var pictures error
	if c.Model.Pictures() {
		_, pictures = c.Tokenizer(c.Model.Image.Input())
	}
	return errors.Join(c.Validate(), c.Quantizer.Validate(max(1, c.Model.Dim)), pictures)
}

func validRecommender(c recommend.Config) func([]byte) error {
	return func(document []byte) error {
		if err := config.Decode(document, c); err != nil {
			return err
		}
		_, err := c.New(recommend.Size{Vocab: []int{256, 256, 256, 256}, Items: 1000})
		return errors.Join(c.Validate(), err)
	}
}
