package prior

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
)

// Folders is the name of labels that makes the subfolder of a picture its class.
const Folders = "dir"

// Labels tell the classes of pictures by name.
type Labels struct {
	source string
	byName map[string]string // by name and by name without extension; nil for Folders
}

// ReadLabels reads a file with a line "name<TAB>class" or "name,class" for every
// picture, or takes the subfolders as classes if source is Folders.
func ReadLabels(source string) (*Labels, error) {
	if source == Folders {
		return &Labels{source: source}, nil
	}
	f, err := os.Open(source)
	if err != nil {
		return nil, usage.Errorf("--labels %s: cannot read it: %w; name a file of labels, or %s for the subfolders of the pictures",
			source, err, Folders)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, usage.Errorf("--labels %s is a folder; write --labels %s to make the subfolders of the pictures their classes",
			source, Folders)
	}
	l := &Labels{source: source, byName: map[string]string{}}
	lines := bufio.NewScanner(f)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		at := strings.IndexByte(line, '\t')
		if at < 0 {
			at = strings.LastIndexByte(line, ',')
		}
		if at < 0 || strings.TrimSpace(line[at+1:]) == "" {
			return nil, fmt.Errorf("line %d of %s is no label: write a name, a tab or a comma, and a class", number, source)
		}
		name, class := strings.TrimSpace(line[:at]), strings.TrimSpace(line[at+1:])
		for _, form := range []string{name, strings.TrimSuffix(name, path.Ext(name))} {
			if other, known := l.byName[form]; known && other != class {
				return nil, fmt.Errorf("line %d of %s: %s is of class %s and of class %s; give each picture one label",
					number, source, name, other, class)
			}
			l.byName[form] = class
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("cannot read the labels %s: %w", source, err)
	}
	if len(l.byName) == 0 {
		return nil, fmt.Errorf("%s has no labels; write a line for every picture: its name, a tab or a comma, and its class", source)
	}
	return l, nil
}

// class is that of a picture, by its path without extension; false if there is none.
func (l *Labels) class(name string) (string, bool) {
	if l.byName == nil {
		folder, _, found := strings.Cut(name, "/")
		return folder, found
	}
	class, ok := l.byName[name]
	if !ok {
		class, ok = l.byName[path.Base(name)]
	}
	return class, ok
}

// of returns the classes of pictures.
func (l *Labels) of(names []string) ([]string, error) {
	classes := make([]string, len(names))
	missing, first := 0, ""
	for i, name := range names {
		class, ok := l.class(name)
		if !ok {
			if missing++; missing == 1 {
				first = name
			}
		}
		classes[i] = class
	}
	switch {
	case missing == 0:
		return classes, nil
	case l.byName == nil:
		return nil, fmt.Errorf("no subfolder holds %s, such as %s; give --labels a file, or put every picture into the folder of its class",
			report.Counted(missing, "picture"), first)
	}
	return nil, fmt.Errorf("%s has no class for %s, such as %s; add a line for each", l.source, report.Counted(missing, "picture"), first)
}

// classNames lists the classes in order.
func classNames(classes []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(classes)))
}

// starts numbers classes by their names.
func starts(classes, names []string) ([]int32, error) {
	numbers := make([]int32, len(classes))
	for i, class := range classes {
		at, known := slices.BinarySearch(names, class)
		if !known {
			return nil, fmt.Errorf("the prior knows no class %q; it was trained on %s", class, listed(names))
		}
		numbers[i] = int32(at)
	}
	return numbers, nil
}

// listed shortens a list for a message.
func listed(names []string) string {
	if most := 8; len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d others", len(names)-most)
	}
	return strings.Join(names, ", ")
}
