package tokenize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The networks of LPIPS see nothing in pictures below 32 x 32 pixels, which train without the loss unless it was asked for.
func TestPerceptualLossOfSmallPictures(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lpips.safetensors"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := configure(t, true, "model.image.size=16")
	said := &notes{}
	network, err := Input{Metrics: dir}.perceptual(&c, said)
	if network != nil || err != nil || c.Train.Perceptual != 0 || len(said.list) != 1 ||
		!strings.Contains(said.list[0], "at least 32 x 32 pixels") {
		t.Errorf("small pictures gave %v, %v, weight %g, %q", network, err, c.Train.Perceptual, said.list)
	}
	c.Train.Perceptual = 0.5
	if _, err := (Input{Metrics: dir}).perceptual(&c, said); err == nil || !strings.Contains(err.Error(), "--perceptual 0") {
		t.Errorf("a chosen loss of small pictures gave %v", err)
	}
	c.Model.Image.Size, c.Train.Perceptual = 32, 0
	if _, err := (Input{Metrics: dir}).perceptual(&c, said); err == nil {
		t.Error("an empty network of larger pictures was taken")
	}
}
