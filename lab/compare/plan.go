package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

type plan struct {
	Options         // with defaults; Variants are all contenders
	points  []Point // by bits
	seeds   []uint64
	shared  vqtrain.Config // settings common to trained methods
}

func newPlan(o Options) (*plan, error) {
	p := &plan{Options: o}
	p.Seeds, p.Jobs, p.Backend = cmp.Or(o.Seeds, 1), cmp.Or(o.Jobs, 1), cmp.Or(o.Backend, engine.Embedded)
	if p.Seeds < 1 || p.Jobs < 1 {
		return nil, usage.Errorf("--seeds %d and --jobs %d must be at least 1", o.Seeds, o.Jobs)
	}
	pictures := dataset.KindOf(o.Input.Path).IsPictures()
	names, err := contenders(o, pictures)
	if err != nil {
		return nil, err
	}
	p.Variants = nil
	for _, name := range names {
		p.Variants = append(p.Variants, Variant{Name: name, Method: name})
	}
	p.Variants = append(p.Variants, o.Variants...)
	p.Settings.Preset, p.Settings.Pictures = cmp.Or(o.Settings.Preset, "default"), o.Settings.Pictures || pictures
	p.Settings.Defaults = func(c *vqtrain.Config) {
		// The data choose the steps where nothing is around the quantizer.
		if !vq.Classical(c.Quantizer.Method) && len(c.Train.Choose) == 0 {
			c.Train.Steps = DefaultSteps
		}
		if o.Settings.Defaults != nil {
			o.Settings.Defaults(c)
		}
	}
	if p.shared, err = p.Settings.Layered("grit"); err != nil {
		return nil, err
	}
	const bytes = 256 // of a run that is planned
	if err := memory.Check(fmt.Sprintf("a plan of %d seeds", p.Seeds), p.Seeds, len(p.Variants), bytes); err != nil {
		return nil, err
	}
	for i := range p.Seeds {
		p.seeds = append(p.seeds, p.shared.Seed+uint64(i))
	}
	q := p.shared.Quantizer
	base := Point{Codes: q.Codes, Levels: q.Levels, Parts: q.Parts}
	if o.Bits != 0 {
		if base, err = PointOfBits(o.Bits); err != nil {
			return nil, usage.Errorf("--bits: %w", err)
		}
	}
	p.points, err = sweep(base, o.Sweeps)
	return p, err
}

func contenders(o Options, pictures bool) ([]string, error) {
	known := vq.MethodNames()
	if pictures {
		known = slices.DeleteFunc(slices.Clone(known), func(name string) bool { return vq.Classical(name) && name != vq.KMeans.Name })
	}
	if o.Methods == nil && o.Variants == nil { // references first
		trained := slices.DeleteFunc(slices.Clone(known), vq.Classical)
		return append(slices.DeleteFunc(known, func(name string) bool { return !vq.Classical(name) }), trained...), nil
	}
	var names []string
	for _, name := range o.Methods {
		switch near := config.Nearest(name, known); {
		case slices.Contains(names, name):
		case slices.Contains(known, name):
			names = append(names, name)
		case slices.Contains(vq.MethodNames(), name):
			return nil, usage.Errorf("--methods: %s is fitted to vectors without a network; "+
				"the classical method of pictures is kmeans, of patches", name)
		case near != "":
			return nil, usage.Errorf("--methods: unknown method %q: did you mean %q?", name, near)
		default:
			return nil, usage.Errorf("--methods: unknown method %q, use all or some of %s", name, strings.Join(known, ", "))
		}
	}
	return names, nil
}

func sweep(base Point, sweeps []string) ([]Point, error) {
	points := []Point{base}
	for _, text := range sweeps {
		name, list, _ := strings.Cut(text, "=")
		set := map[string]func(*Point, int){
			"codes":  func(p *Point, n int) { p.Codes = n },
			"levels": func(p *Point, n int) { p.Levels = n },
		}[name]
		if set == nil {
			return nil, usage.Errorf("--sweep %s: write codes=256,1024 or levels=1,2,4", text)
		}
		var next []Point
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
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.Bits(), b.Bits()) })
	return points, nil
}

func (p *plan) config(v Variant, at Point, seed uint64) (vqtrain.Config, error) {
	usual, err := vqtrain.Preset(p.Settings.Preset, v.Method)
	if err != nil {
		return vqtrain.Config{}, usage.Error{Err: err}
	}
	settings := p.Settings
	settings.Final = func(c *vqtrain.Config) {
		c.Quantizer.Method, c.Seed = v.Method, seed
		c.Train.Flat = 0 // all methods have the same budget
		c.Quantizer.Codes = at.Codes
		c.Quantizer.Arrange(at.Levels, at.Parts)
		if c.Model.Pictures() {
			c.Train.Perceptual = p.shared.Train.Perceptual // depends on the networks that were found
		}
		if vq.Classical(v.Method) {
			c.Train.Steps = usual.Train.Steps
			if !c.Model.Pictures() {
				c.Model.Dim, c.Model.Hidden = 0, nil
			}
		}
		if v.Change != nil {
			v.Change(c)
		}
		if p.Settings.Final != nil {
			p.Settings.Final(c)
		}
	}
	return settings.ConfigOf(v.Method)
}

// cells lists the runs, seed after seed, so that an unfinished comparison has all methods with the first seeds.
func (p *plan) cells(s *subject) ([]Cell, error) {
	var cells []Cell
	var unsuited error
	usable := false
	for _, at := range p.points {
		for _, seed := range p.seeds {
			for _, v := range p.Variants {
				c, invalid := p.config(v, at, seed)
				c.Quantizer.Method, c.Seed = v.Method, seed
				cell, err := newCell(v.Name, s, at, c, invalid)
				if err != nil {
					return nil, err
				}
				unsuited, usable = cmp.Or(unsuited, cell.Err), usable || cell.Err == nil
				cells = append(cells, cell)
			}
		}
	}
	if !usable {
		return nil, usage.Error{Err: fmt.Errorf("no method works with these settings: %w", unsuited)}
	}
	return cells, nil
}

func (p *plan) settings(s *subject) Settings {
	names := make([]string, len(p.Variants))
	for i, v := range p.Variants {
		names[i] = v.Name
	}
	t := p.shared.Train
	return Settings{Methods: names, Points: p.points, Seeds: p.seeds, Preset: p.Settings.Preset, Steps: t.Steps, Batch: t.Batch,
		Split: t.Split, Network: widths(p.shared, s.source.Set.Input()), Metrics: s.metrics, Backend: p.Backend, Jobs: p.Jobs}
}

// widths is of length one if there is no network.
func widths(c vqtrain.Config, input int) []int {
	if c.Model.Pictures() {
		return append(slices.Clone(c.Model.Image.Widths), c.Model.Dim)
	}
	list := append([]int{input}, c.Model.Hidden...)
	if dim := cmp.Or(c.Model.Dim, input); dim != input || len(list) > 1 {
		list = append(list, dim)
	}
	return list
}
