package images

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// syntheticPrefix begins the names of built-in sets.
const syntheticPrefix = "synthetic:"

// Defaults and limits of synthetic:scenes.
const (
	defaultScenes    = 10_000
	defaultSceneSize = 64
	maxScenes        = 1 << 40
	maxSceneSize     = 4096
)

// scenes is the built-in set: every picture is drawn when it is asked for.
type scenes struct {
	images, size int
	seed         uint64
}

// openSynthetic parses "scenes?images=N&size=S&seed=X".
func openSynthetic(path, spec string) (*scenes, error) {
	name, query, _ := strings.Cut(spec, "?")
	if name != "scenes" {
		return nil, fmt.Errorf("there is no built-in set of pictures %q; known is scenes", name)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("cannot understand %q: write it as %sscenes?images=1000&size=64&seed=7", path, syntheticPrefix)
	}
	s := &scenes{images: defaultScenes, size: defaultSceneSize, seed: 1}
	for key, list := range values {
		text := list[len(list)-1]
		var err error
		switch key {
		case "images":
			s.images, err = parseCount(text, maxScenes)
		case "size":
			s.size, err = parseCount(text, maxSceneSize)
		case "seed":
			if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
				err = fmt.Errorf("expected a number from 0")
			}
		default:
			return nil, fmt.Errorf("%s has no parameter %q; known are images, size and seed", path, key)
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s in %s is impossible: %w", key, text, path, err)
		}
	}
	return s, nil
}

func parseCount(text string, most int64) (int, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most || int64(int(n)) != n {
		return 0, fmt.Errorf("expected a number from 1 to %d", most)
	}
	return int(n), nil
}

func (s *scenes) count() int       { return s.images }
func (s *scenes) key(i int) string { return fmt.Sprintf("%06d", i) }
func (s *scenes) Close() error     { return nil }

func (s *scenes) picture(i int) (*RGB, error) { return drawScene(s.seed, i, s.size), nil }
