package catalogue

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/artifact"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
)

var (
	outputFiles = []string{artifact.ManifestFile, UnionFile, ParquetFile, ItemsFile, ReportFile}
	// intermediateFiles are written first; a run that was killed early leaves only these.
	intermediateFiles = []string{textEncoderFile, titleVectors, shopVectors, unionVectors, joinedVectors}
)

func (m *maker) plan() error {
	if m.Dense {
		if m.Resolve != "" && m.Resolve != Token || m.Spare != 0 || m.Union {
			return usage.Errorf("dense IDs never collide and share nothing; leave --resolve, --spare and --union out")
		}
		m.Resolve = Unique
	} else if m.Resolve == Unique {
		return usage.Errorf("--resolve %s is for dense IDs alone", m.Resolve)
	}
	m.Resolve = cmp.Or(m.Resolve, Token)
	if err := (BuildOptions{Resolve: m.Resolve, TokenVocab: m.Spare}).check(); err != nil {
		return err
	}
	if err := m.checkLogs(); err != nil {
		return err
	}
	if q := m.Config.Quantizer; m.Random && (q.Levels*q.Parts < 1 || q.Codes < 2) {
		return usage.Errorf("--levels %d --codes %d: use at least 1 and 2", q.Levels*q.Parts, q.Codes)
	}
	if err := m.nameSources(); err != nil {
		return err
	}
	return m.checkOutput()
}

func (m *maker) checkLogs() error {
	for _, s := range m.Sources {
		switch {
		case s.Input == "" && s.Log.Path == "":
			return usage.Errorf("a catalogue needs embeddings, titles or a log")
		case s.Log.Path == "":
		case m.plain():
			return usage.Errorf("dense IDs and random codes ignore what items are like; leave --log out")
		case m.Tokenizer != "":
			return usage.Errorf("--tokenizer %s knows no items of a log; leave --log or --tokenizer out", m.Tokenizer)
		case len(m.Sources) > 1 && m.Union:
			return usage.Errorf("catalogues with logs of their own cannot share a tokenizer; leave --log or --union out")
		}
	}
	return nil
}

func (m *maker) nameSources() error {
	inputs, names := make([]string, len(m.Sources)), make([]string, len(m.Sources))
	for i, s := range m.Sources {
		m.list = append(m.list, &source{Source: s, dir: m.Output})
		inputs[i], names[i] = s.Input, s.Name
	}
	switch {
	case len(names) == 0:
		return usage.Errorf("IDs need at least one catalogue")
	case len(names) == 1:
		return nil
	case strings.Join(names, "") == "":
		names = namesOf(inputs)
	}
	if err := checkNames(append(slices.Clone(names), TokenizerDir)); err != nil {
		return usage.Errorf("%w; use --name, once a catalogue", err)
	}
	for i, s := range m.list {
		s.Name, s.dir = names[i], filepath.Join(m.Output, names[i])
	}
	return nil
}

// namesOf takes the names of the files or, if two are equal, of their directories.
func namesOf(inputs []string) []string {
	stems, parents := make([]string, len(inputs)), make([]string, len(inputs))
	for i, input := range inputs {
		if dataset.KindOf(input) == dataset.Shop {
			stems[i], parents[i] = "shop", "shop"
			continue
		}
		base := filepath.Base(input)
		stems[i] = strings.TrimSuffix(base, filepath.Ext(base))
		if absolute, err := filepath.Abs(input); err == nil {
			parents[i] = filepath.Base(filepath.Dir(absolute))
		}
	}
	if checkNames(stems) != nil {
		return parents
	}
	return stems
}

func (m *maker) directories() []string {
	dirs := []string{m.Output}
	for _, s := range m.list {
		if s.dir != m.Output {
			dirs = append(dirs, s.dir)
		}
	}
	return dirs
}

// checkOutput refuses to overwrite inputs, foreign files and, without Force, a finished table.
func (m *maker) checkOutput() error {
	dirs, begun := m.directories(), m.Force
	for _, dir := range dirs {
		if _, err := kind.Output(dir); err != nil {
			return err
		}
	}
	for _, marker := range []string{artifact.ManifestFile, UnionFile} {
		if output.Present(filepath.Join(m.Output, marker)) && !m.Force {
			return fmt.Errorf("%s holds a finished table; choose another directory, --force to replace it, "+
				"or gritvq ids add for new items", m.Output)
		}
	}
	var inputs []string
	for _, s := range m.list {
		inputs = append(inputs, s.Input, s.Items, s.Log.Path)
	}
	for _, dir := range dirs {
		if err := output.RefuseInput(output.Inside(dir, slices.Concat(outputFiles, intermediateFiles)...), inputs...); err != nil {
			return err
		}
		begun = begun || output.Present(filepath.Join(dir, TokenizerDir)) || output.Present(filepath.Join(dir, artifact.ManifestFile))
	}
	if begun {
		return nil
	}
	for _, dir := range dirs {
		if err := output.RefuseForeign(dir, "table of IDs", outputFiles...); err != nil {
			return err
		}
	}
	return nil
}

// makeDirectories makes and locks the directories; release ends that. discard removes new files after a failure.
func (m *maker) makeDirectories() (discard, release func(), err error) {
	var files []string // new ones
	var claims []*output.Claim
	discard = func() {
		for _, path := range files {
			os.Remove(path)
		}
	}
	release = func() {
		for _, claim := range slices.Backward(claims) {
			claim.Release()
		}
	}
	for _, dir := range m.directories() {
		claim, err := output.Lock(dir)
		if err != nil {
			release()
			return nil, nil, err
		}
		claims = append(claims, claim)
		for _, path := range output.Inside(dir, intermediateFiles...) {
			if !output.Present(path) {
				files = append(files, path)
			}
		}
	}
	return discard, release, nil
}
