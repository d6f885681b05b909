package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/seal"
	"github.com/gritvq/gritvq/tokenizer"
)

func TestOlderConfigurationsStillLoad(t *testing.T) {
	dir, b := written(t)
	// A bundle made before these settings and their defaults existed.
	for name, line := range map[string]string{artifact.ManifestFile: `"activation": "relu",`, ConfigFile: "activation: relu\n"} {
		path := filepath.Join(dir, name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		older := bytes.Replace(content, []byte(line), nil, 1)
		if len(older) == len(content) {
			t.Fatalf("%s does not hold %q", name, line)
		}
		if err := os.WriteFile(path, older, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	now, err := artifact.Describe(dir, ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	old, _ := b.Manifest.File(ConfigFile)
	path := filepath.Join(dir, artifact.ManifestFile)
	content, _ := os.ReadFile(path)
	content = bytes.Replace(content, []byte(old.SHA256), []byte(now.SHA256), 1)
	content = bytes.Replace(content, fmt.Appendf(nil, `"size": %d`, old.Size), fmt.Appendf(nil, `"size": %d`, now.Size), 1)
	if err := os.WriteFile(path, seal.Renew(content), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if spec := got.Tokenizer.Spec; spec.Quantizer.Codes != 3 || spec.Model.Activation != "relu" {
		t.Errorf("got %+v", spec)
	}
}

func FuzzManifest(f *testing.F) {
	dir, _ := written(f)
	content, err := os.ReadFile(filepath.Join(dir, artifact.ManifestFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte(`{"schema":1,"kind":"vectors","config":{"quantizer":{"method":"grit"}}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, content []byte) {
		var m, again Manifest
		if json.Unmarshal(content, &m) != nil {
			return
		}
		spec, err := m.spec()
		if err != nil {
			return
		}
		if err := spec.Model.Validate(); err != nil {
			t.Errorf("accepted a configuration that is not valid: %v", err)
		}
		copied, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("accepted a manifest that cannot be written: %v", err)
		}
		if err := json.Unmarshal(copied, &again); err != nil {
			t.Fatalf("accepted a manifest but not its copy: %v", err)
		}
		if _, err := again.spec(); err != nil {
			t.Fatalf("accepted a manifest but not its copy: %v", err)
		}
	})
}

// The directories in testdata were written by gritvq before package artifact.
func TestOldBundlesStillOpen(t *testing.T) {
	for name, input := range map[string]int{string(dataset.Vectors): 16, string(dataset.Pictures): 3 * 16 * 16} {
		b, err := Load(filepath.Join("testdata", name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m := b.Manifest; m.Kind != name || m.Input != input || len(m.Files) != 2 || m.Fingerprint() == [32]byte{} {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestNewMetrics(t *testing.T) {
	scores, pictures := &tokenizer.Scores{}, &tokenizer.PictureScores{}
	if m := NewMetrics(nil, scores); m.Train != scores || m.Held != nil || m.Pictures != nil {
		t.Errorf("%+v", m)
	}
	if m := NewMetrics(pictures, pictures); m.Train != nil || m.Pictures.Held != pictures || m.Pictures.Train != pictures {
		t.Errorf("%+v", m)
	}
}
