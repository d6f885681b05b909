package gritvq

import (
	"fmt"
	"strings"

	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
)

// Option changes how a tokenizer is trained or loaded.
type Option func(*settings)

type settings struct {
	config   tokenize.Settings
	backend  string
	resume   bool
	replace  bool
	from     string
	progress func(Progress)
}

func newSettings(options []Option) *settings {
	s := &settings{config: tokenize.Settings{Preset: "default"}, backend: "go"}
	for _, o := range options {
		o(s)
	}
	return s
}

// Method chooses the quantizer, such as grit, ema, fsq or rq.
func Method(name string) Option { return Set("quantizer.method=" + name) }

// Codes sets the number of codes of a level.
func Codes(n int) Option { return Set(fmt.Sprintf("quantizer.codes=%d", n)) }

// Levels sets the number of residual levels.
func Levels(n int) Option { return Set(fmt.Sprintf("quantizer.levels=%d", n)) }

// NoNetwork quantizes the vectors themselves, without encoder and decoder.
func NoNetwork() Option { return Set("model.hidden=[]", "model.dim=0") }

// Steps sets the number of training steps.
func Steps(n int) Option { return Set(fmt.Sprintf("train.steps=%d", n)) }

// Seed decides initial weights, the split and the order of the data.
func Seed(n uint64) Option { return Set(fmt.Sprintf("seed=%d", n)) }

// Set assigns settings by their YAML keys, such as "model.hidden=64,32"; gritvq
// config lists them all.
func Set(assignments ...string) Option {
	return func(s *settings) { s.config.Sets = append(s.config.Sets, assignments...) }
}

// Config reads settings from a YAML file; [Set] and the other options go before it.
func Config(path string) Option { return func(s *settings) { s.config.File = path } }

// Backend chooses the engine: "go", the embedded one, or "xla:PLUGIN" in programs
// built with the tag xla.
func Backend(name string) Option { return func(s *settings) { s.backend = name } }

// From starts training from the tokenizer in a directory, whose settings take the place of the preset; more levels
// or codes are added to it.
func From(dir string) Option { return func(s *settings) { s.from = dir } }

// Freeze keeps parts of the tokenizer of [From] as they are: encoder, codes, decoder. With encoder and codes frozen
// every item keeps its codes.
func Freeze(parts ...string) Option { return Set("train.freeze=[" + strings.Join(parts, ",") + "]") }

// Resume continues an interrupted run in the directory; a finished one is loaded.
func Resume() Option { return func(s *settings) { s.resume = true } }

// Replace overwrites a tokenizer in the directory.
func Replace() Option { return func(s *settings) { s.replace = true } }

// Progress is told while [Train] works.
type Progress struct {
	Done, Total int64  // in Unit; Total is 0 where it is not known
	Unit        string // such as "rows" or "steps"
	Text        string // such as the loss; remarks have no Unit
}

// OnProgress calls f with every step and remark, from one goroutine at a time.
func OnProgress(f func(Progress)) Option { return func(s *settings) { s.progress = f } }

// start opens the tokenizer of From, if there is one.
func (s *settings) start(data string) (from *tokenize.From, err error) {
	if s.from == "" {
		return nil, nil
	}
	if from, err = tokenize.OpenFrom(s.from); err == nil {
		s.config, err = from.Settings(s.config, data)
	}
	return from, err
}

func (s *settings) watcher() task.Watcher {
	if s.progress == nil {
		return task.Silent{}
	}
	return watcher{s.progress}
}

// watcher calls a function with everything that a workflow tells.
type watcher struct{ tell func(Progress) }

func (w watcher) Remark(format string, args ...any) {
	w.tell(Progress{Text: fmt.Sprintf(format, args...)})
}

func (w watcher) Line(total int, units string) task.Line {
	return &line{watcher: w, now: Progress{Total: int64(total), Unit: units}}
}

type line struct {
	watcher
	now Progress
}

func (l *line) Of(total int64, units string) { l.now.Total, l.now.Unit = total, units }

func (l *line) Update(done int64, text string) {
	l.now.Done, l.now.Text = done, text
	l.tell(l.now)
}

func (l *line) Status(text string) { l.Update(l.now.Done, text) }
func (l *line) Log(string)         {}
func (l *line) Done()              {}
