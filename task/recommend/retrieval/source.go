package retrieval

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/dataset/interactions"
)

// Source says where searches come from.
type Source struct {
	// Names are parquet files in the layout of Amazon's Shopping Queries Dataset
	// (ESCI), or the one name "derived": searches made up from the catalogue, see
	// interactions.DeriveQueries. "derived?count=1000&answers=20&seed=2" bounds
	// their number and that of their answers, and draws others.
	Names []string
	// ESCI chooses from the files.
	ESCI interactions.ESCIOptions
}

// derived is the name of searches that are made up.
const derived = "derived"

// Open reads or makes up the searches. The catalogue is that of the IDs; files
// bring one of their own.
func (s Source) Open(ctx context.Context, catalogue *interactions.Catalogue) (*interactions.Queries, error) {
	if len(s.Names) != 1 || !isDerived(s.Names[0]) {
		return interactions.ReadESCI(ctx, s.Names, s.ESCI)
	}
	options, err := parseDerived(s.Names[0])
	if err != nil {
		return nil, err
	}
	return interactions.DeriveQueries(catalogue, options)
}

// String names the searches without the directories of their files.
func (s Source) String() string {
	var names []string
	for _, name := range s.Names {
		if !isDerived(name) {
			name = filepath.Base(name)
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func isDerived(name string) bool { return name == derived || strings.HasPrefix(name, derived+"?") }

// parseDerived reads the options behind the name.
func parseDerived(name string) (interactions.DeriveOptions, error) {
	var o interactions.DeriveOptions
	_, query, _ := strings.Cut(name, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return o, fmt.Errorf("cannot understand %q: write it as %s?count=1000&answers=20&seed=2", name, derived)
	}
	for key, list := range values {
		text := list[len(list)-1]
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return o, fmt.Errorf("%s=%s in %s is impossible: expected a number from 0", key, text, name)
		}
		switch key {
		case "count":
			o.Count = int(n)
		case "answers":
			o.MaxAnswers = int(n)
		case "seed":
			o.Seed = n
		default:
			return o, fmt.Errorf("%s has no parameter %q; known are count, answers and seed", name, key)
		}
	}
	return o, nil
}
