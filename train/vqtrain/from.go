package vqtrain

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/vq"
	"github.com/gritvq/gritvq/weights"
)

// Trained is a tokenizer that training starts from. Its standardisation of the data is kept.
type Trained struct {
	Tokenizer *tokenizer.Tokenizer
	Weights   weights.Set
	Codebooks []*weights.Array // usable codes of every slot
	Usage     [][]int64        // how often training rows chose each code, by slot
}

// Parts of a tokenizer that Train.Freeze names.
const (
	FreezeEncoder = "encoder"
	FreezeCodes   = "codes"
	FreezeDecoder = "decoder"
)

// Continued returns the settings that further training of a tokenizer begins with: those of its own training,
// of which nothing is chosen by trials.
func (c Config) Continued() Config {
	c.Train.Choose, c.Train.KeepStart, c.Train.Freeze = nil, false, nil
	if c.Train.Finish == 1 { // the choice of that training
		c.Train.Finish = 0
	}
	return c
}

// retrainable are the settings of form that further training may change, sections with a dot.
var retrainable = []string{
	"model.image.short", "quantizer.codes", "quantizer.levels", "quantizer.beam", "quantizer.dropout", "quantizer.start.",
	"quantizer.average.", "quantizer.loss.", "quantizer.radius.", "quantizer.cache.", "quantizer.resets.", "quantizer.noise",
	"quantizer.gumbel.", "quantizer.entropy.", "quantizer.transform.hidden_drop", "model.refine.drop",
}

// CheckFrom refuses settings that contradict the tokenizer that training starts from, and parts to freeze
// without one.
func (c Config) CheckFrom(from *Trained) error {
	if from == nil {
		if len(c.Train.Freeze) > 0 {
			return fmt.Errorf("train.freeze: only parts of a trained tokenizer can be frozen; name one with --from, or leave it empty")
		}
		return nil
	}
	if vq.Classical(from.Tokenizer.Spec.Quantizer.Method) {
		return fmt.Errorf("method %s is fitted at once and cannot be trained further; fit it to the new data without --from",
			from.Tokenizer.Spec.Quantizer.Method)
	}
	if len(c.Train.Choose) > 0 {
		return fmt.Errorf("train.choose: trials choose nothing when training starts from a tokenizer; leave it empty")
	}
	old := from.Tokenizer.Spec.Quantizer
	if c.Quantizer.Codes < old.Codes || c.Quantizer.Levels < old.Levels {
		return fmt.Errorf("quantizer: %d levels of %d codes are fewer than the %d of %d of the tokenizer that training starts from; "+
			"codes and levels can only be added", c.Quantizer.Levels, c.Quantizer.Codes, old.Levels, old.Codes)
	}
	keys, err := config.Differences(from.Tokenizer.Spec, c.Spec)
	if err != nil {
		return err
	}
	frozen := slices.Contains(c.Train.Freeze, FreezeCodes)
	for _, key := range keys {
		allowed := slices.ContainsFunc(retrainable, func(name string) bool {
			return name == key || strings.HasSuffix(name, ".") && strings.HasPrefix(key, name)
		})
		allowed = allowed || key == "model.refine.width" && from.Tokenizer.Spec.Model.Refine.Width == 0
		if allowed && !(frozen && key == "quantizer.beam") {
			continue
		}
		was, _ := config.Get(from.Tokenizer.Spec, key)
		is, _ := config.Get(c.Spec, key)
		return fmt.Errorf("%s: %s contradicts the tokenizer that training starts from, which has %s; leave it out", key, is, was)
	}
	network := !from.Tokenizer.Identity()
	trains := func(part string) bool {
		return !slices.Contains(c.Train.Freeze, part) && (c.Train.Finish < 1 || part == FreezeDecoder)
	}
	encodes, decodes := network && trains(FreezeEncoder), (network || c.Model.Refine.Width > 0) && trains(FreezeDecoder)
	if !encodes && !decodes && !(c.Train.Finish < 1 && (trains(FreezeCodes) || c.adds(from))) {
		return fmt.Errorf("train.freeze: %s leaves nothing to train; freeze less, or add levels or codes", strings.Join(c.Train.Freeze, ", "))
	}
	return nil
}

// adds says whether there are more levels or codes than the trained ones.
func (c Config) adds(from *Trained) bool {
	old := from.Tokenizer.Spec.Quantizer
	return c.Quantizer.Codes > old.Codes || c.Quantizer.Levels > old.Levels
}

// continued returns the variables of the quantizer for training that starts from a tokenizer.
func (t *Trainer) continued(ctx context.Context) (weights.Set, error) {
	from, sample := t.source.From, vq.Latents{Dim: t.model.Dim()}
	if t.config.adds(from) {
		var err error
		if sample, err = t.sampleLatents(ctx, startSample); err != nil {
			return nil, err
		}
	}
	trained := vq.Trained{Quantizer: from.Tokenizer.Quantizer, Variables: from.Weights.Sub(vq.Prefix), Codebooks: from.Codebooks,
		Usage: from.Usage}
	return vq.Continue(t.model.Quantizer, trained, sample.With(ctx), weights.Rand(t.config.Seed, "codes"))
}

// freezes says whether a part of the tokenizer stays as it is.
func (t *Trainer) freezes(part string) bool { return slices.Contains(t.config.Train.Freeze, part) }

// frozen says whether a variable stays as it is, whole. Of codebooks that were extended the trained rows alone
// stay, see [Trainer.keptRows].
func (t *Trainer) frozen(p string) bool {
	for _, part := range []string{FreezeEncoder, FreezeDecoder} {
		if strings.HasPrefix(p, part+"/") {
			return t.freezes(part)
		}
	}
	rest, ok := strings.CutPrefix(p, vq.Prefix+"/")
	if !ok || !t.freezes(FreezeCodes) {
		return false
	}
	layout := t.model.Quantizer.Layout()
	for slot := range layout.Slots() {
		if variable, ok := strings.CutPrefix(rest, layout.Path(slot)+"/"); ok {
			kept := t.keptCodes(slot)
			return kept == layout.Vocab[layout.Position(slot)] || kept > 0 && variable != vq.CodesPath && !vq.TrainingOnly(p)
		}
	}
	return true // the surrogate's
}

// thawed returns the variables of a set that may change.
func (t *Trainer) thawed(set weights.Set) weights.Set {
	maps.DeleteFunc(set, func(p string, _ *weights.Array) bool { return t.frozen(p) })
	return set
}

// keptCodes is the number of leading codes of a slot that stay as they are.
func (t *Trainer) keptCodes(slot int) int {
	if !t.freezes(FreezeCodes) {
		return 0
	}
	trained, ok := t.trainedSlot(slot)
	if !ok {
		return 0
	}
	return t.source.From.Codebooks[trained].Shape[0]
}

// trainedSlot returns the slot of the tokenizer that training starts from whose codes a slot has.
func (t *Trainer) trainedSlot(slot int) (int, bool) {
	now, old := t.model.Quantizer.Layout(), t.source.From.Tokenizer.Quantizer.Layout()
	part, level := slot/now.Levels, slot%now.Levels // parts of all phases
	if now.Shared {
		level = 0
	}
	return part*old.Levels + level, level < old.Levels
}

// keptRows returns the number of leading rows of a variable that stay as they are while the others are trained.
func (t *Trainer) keptRows(p string) int {
	rest, ok := strings.CutPrefix(p, vq.Prefix+"/")
	if !ok || !t.freezes(FreezeCodes) || t.frozen(p) {
		return 0
	}
	layout := t.model.Quantizer.Layout()
	for slot := range layout.Slots() {
		if rest == layout.Path(slot)+"/"+vq.CodesPath {
			return t.keptCodes(slot)
		}
	}
	return 0
}

// hold puts the rows that stay back into exported variables, where averages may have rounded them.
func (t *Trainer) hold(set weights.Set) {
	if !t.freezes(FreezeCodes) || !t.state.Started {
		return
	}
	for slot := range t.model.Quantizer.Layout().Slots() {
		p := vq.Prefix + "/" + t.model.Quantizer.Layout().Path(slot) + "/" + vq.CodesPath
		if rows := t.keptRows(p); rows > 0 {
			trained, _ := t.trainedSlot(slot)
			copy(set[p].Data, t.source.From.Codebooks[trained].Data)
		}
	}
}

// holdBooks puts trained codes that stay back into codebooks, so that not even the rounding of another machine
// changes them.
func (t *Trainer) holdBooks(books []*weights.Array) {
	for slot, book := range books {
		if kept := t.keptCodes(slot); kept > 0 {
			trained, _ := t.trainedSlot(slot)
			copy(book.Data, t.source.From.Codebooks[trained].Data)
		}
	}
}
