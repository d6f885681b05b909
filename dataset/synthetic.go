package dataset

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// SyntheticPrefix begins the names of built-in data sets.
const SyntheticPrefix = "synthetic:"

// Synthetic describes a built-in data set, which is opened by the name
// "synthetic:NAME?key=value&...".
type Synthetic struct {
	Name       string
	Parameters []Parameter
}

// Parameter is a whole number in such a name: from 1 to Most, or from 0 without
// a limit where Most is 0.
type Parameter struct {
	Name    string
	Default uint64
	Most    uint64
}

// SeedParameter is the parameter that chooses among sets of one shape.
var SeedParameter = Parameter{Name: "seed", Default: 1}

var syntheticSets = map[Kind][]Synthetic{}

// RegisterSynthetic makes built-in sets known to KindOf and ParseSynthetic.
func RegisterSynthetic(kind Kind, sets ...Synthetic) {
	syntheticSets[kind] = append(syntheticSets[kind], sets...)
}

// IsSynthetic reports whether path names a built-in set.
func IsSynthetic(path string) bool { return strings.HasPrefix(path, SyntheticPrefix) }

// SyntheticNames lists the built-in sets of a kind, without their prefix.
func SyntheticNames(kind Kind) []string {
	var names []string
	for _, set := range syntheticSets[kind] {
		names = append(names, set.Name)
	}
	return names
}

// syntheticKind is the kind of the set that path names, vectors if unknown.
func syntheticKind(path string) Kind {
	name, _ := cutSynthetic(path)
	for kind := range syntheticSets {
		if slices.Contains(SyntheticNames(kind), name) {
			return kind
		}
	}
	return Vectors
}

func cutSynthetic(path string) (name, query string) {
	name, query, _ = strings.Cut(strings.TrimPrefix(path, SyntheticPrefix), "?")
	return name, query
}

// ParseSynthetic finds the set of a kind that path names and returns its name
// and parameters, which are within their limits.
func ParseSynthetic(kind Kind, path string) (name string, values map[string]uint64, err error) {
	name, query := cutSynthetic(path)
	sets := syntheticSets[kind]
	at := slices.IndexFunc(sets, func(set Synthetic) bool { return set.Name == name })
	if at < 0 || !IsSynthetic(path) {
		known := strings.Join(SyntheticNames(kind), ", ")
		return "", nil, fmt.Errorf("there is no built-in set of %s %q; known: %s", kind, name, known)
	}
	values, err = ParseParameters(path, query, sets[at].Parameters)
	return name, values, err
}

// ParseParameters reads "key=value&..." and fills in defaults; path is the
// whole name, for messages.
func ParseParameters(path, query string, parameters []Parameter) (map[string]uint64, error) {
	values := map[string]uint64{}
	var names, example []string
	for _, p := range parameters {
		values[p.Name] = p.Default
		names = append(names, p.Name)
		example = append(example, fmt.Sprintf("%s=%d", p.Name, p.Default))
	}
	given, err := url.ParseQuery(query)
	if err != nil {
		bare := strings.TrimSuffix(path, "?"+query)
		return nil, fmt.Errorf("cannot understand %q: write it as %s?%s", path, bare, strings.Join(example, "&"))
	}
	for key, list := range given {
		at := slices.Index(names, key)
		if at < 0 {
			return nil, fmt.Errorf("%s has no parameter %q; known: %s", path, key, strings.Join(names, ", "))
		}
		text := list[len(list)-1]
		if values[key], err = parameters[at].parse(text); err != nil {
			return nil, fmt.Errorf("%s=%s in %s is impossible: %w", key, text, path, err)
		}
	}
	return values, nil
}

func (p Parameter) parse(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	switch {
	case p.Most == 0 && err != nil:
		return 0, fmt.Errorf("expected a number from 0")
	case p.Most > 0 && (err != nil || n < 1 || n > p.Most || int64(int(n)) != int64(n)):
		return 0, fmt.Errorf("expected a number from 1 to %d", p.Most)
	}
	return n, nil
}
