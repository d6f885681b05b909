package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/task/tokenize"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/lab/compare"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// comparePlan is what a compare command line asks for.
type comparePlan struct {
	methods  []string
	points   []compare.Point
	seeds    []uint64
	settings tokenize.Settings
	shared   vqtrain.Config // of a trained method: what all of them have in common
	pictures bool
}

// plan reads the command line. Every error is one of usage.
func (o *compareOptions) plan() (comparePlan, error) {
	var p comparePlan
	var err error
	if o.seeds < 1 || o.jobs < 1 {
		return p, usage.Errorf("--seeds %d and --jobs %d must be at least 1", o.seeds, o.jobs)
	}
	if o.held != "" && o.settings.Given("split") {
		return p, usage.Errorf("--split and --val exclude each other: what is held out is %s", o.held)
	}
	p.pictures = dataset.KindOf(o.input).IsPictures()
	if p.methods, err = parseMethods(o.methods, p.pictures); err != nil {
		return p, err
	}
	p.settings = o.settings.Layers(p.pictures)
	p.settings.Defaults = func(c *vqtrain.Config) {
		if !vq.Classical(c.Quantizer.Method) {
			c.Train.Steps = compareSteps
		}
	}
	if p.shared, err = p.settings.Layered("grit"); err != nil {
		return p, err
	}
	for i := range o.seeds {
		p.seeds = append(p.seeds, p.shared.Seed+uint64(i))
	}
	q := p.shared.Quantizer
	base := compare.Point{Codes: q.Codes, Levels: q.Levels, Parts: q.Parts}
	if o.bits != 0 {
		for _, name := range []string{"codes", "levels", "parts"} {
			if o.settings.Given(name) {
				return p, usage.Errorf("--bits and --%s exclude each other: --bits chooses codes and levels", name)
			}
		}
		if base, err = compare.PointOfBits(o.bits); err != nil {
			return p, usage.Errorf("--bits: %w", err)
		}
	}
	p.points, err = sweep(base, o.sweeps)
	return p, err
}

// parseMethods reads "all" or a list of names, and drops repetitions. Pictures
// need methods that train a network.
func parseMethods(text string, pictures bool) ([]string, error) {
	known := vq.MethodNames()
	if pictures {
		known = slices.DeleteFunc(slices.Clone(known), vq.Classical)
	}
	if text == "all" {
		return known, nil
	}
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if pictures && slices.Contains(vq.MethodNames(), name) && vq.Classical(name) {
			return nil, usage.Errorf("--methods: %s is fitted to vectors without a network and cannot code pictures", name)
		}
		if !slices.Contains(known, name) {
			if near := config.Nearest(name, known); near != "" {
				return nil, usage.Errorf("--methods: unknown method %q: did you mean %q?", name, near)
			}
			return nil, usage.Errorf("--methods: unknown method %q, use all or some of %s", name, strings.Join(known, ", "))
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// sweep returns the sizes of code to compare: every combination of the listed
// values, the base's where none are listed.
func sweep(base compare.Point, sweeps []string) ([]compare.Point, error) {
	points := []compare.Point{base}
	for _, text := range sweeps {
		name, list, _ := strings.Cut(text, "=")
		set := map[string]func(*compare.Point, int){
			"codes":  func(p *compare.Point, n int) { p.Codes = n },
			"levels": func(p *compare.Point, n int) { p.Levels = n },
		}[name]
		if set == nil {
			return nil, usage.Errorf("--sweep %s: write codes=256,1024 or levels=1,2,4", text)
		}
		var next []compare.Point
		for field := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(field))
			if err != nil || n < 1 {
				return nil, usage.Errorf("--sweep %s: %q is no number of %s", text, field, name)
			}
			for _, p := range points {
				set(&p, n)
				if !slices.Contains(next, p) {
					next = append(next, p)
				}
			}
		}
		points = next
	}
	slices.SortStableFunc(points, func(a, b compare.Point) int {
		if a.Bits() < b.Bits() {
			return -1
		}
		if a.Bits() > b.Bits() {
			return 1
		}
		return 0
	})
	return points, nil
}

// config is the configuration of a method at a point with a seed. Classical
// methods see the vectors themselves and fit in their own way.
func (p comparePlan) config(method string, at compare.Point, seed uint64) (vqtrain.Config, error) {
	usual, err := vqtrain.Preset(p.settings.Preset, method)
	if err != nil {
		return vqtrain.Config{}, usage.Error{Err: err}
	}
	p.settings.Final = func(c *vqtrain.Config) {
		c.Quantizer.Method, c.Seed = method, seed
		c.Quantizer.Codes = at.Codes
		c.Quantizer.Arrange(at.Levels, at.Parts)
		if p.pictures {
			c.Train.Perceptual = p.shared.Train.Perceptual // settled by what networks there are
		}
		if vq.Classical(method) {
			c.Model.Dim, c.Model.Hidden, c.Train.Steps = 0, nil, usual.Train.Steps
		}
	}
	return p.settings.ConfigOf(method)
}

// cells lists the runs of a comparison, seed after seed, so that an unfinished
// one has all methods with the first seeds. It fails when the settings suit no
// method at all.
func (p comparePlan) cells(fingerprint string, input int) ([]compare.Cell, error) {
	var cells []compare.Cell
	var unfit error
	usable := false
	for _, at := range p.points {
		for _, seed := range p.seeds {
			for _, method := range p.methods {
				c, invalid := p.config(method, at, seed)
				c.Quantizer.Method, c.Seed = method, seed
				cell, err := compare.NewCell(fingerprint, input, at, c, invalid)
				if err != nil {
					return nil, err
				}
				if unfit == nil {
					unfit = cell.Err
				}
				usable = usable || cell.Err == nil
				cells = append(cells, cell)
			}
		}
	}
	if !usable {
		return nil, usage.Error{Err: fmt.Errorf("no method works with these settings: %w", unfit)}
	}
	return cells, nil
}
