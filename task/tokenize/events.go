package tokenize

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/export/tensorboard"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// eventPictures are drawn for TensorBoard.
const eventPictures = 8

// events are the event file of a run. Its methods do nothing on nil; the first error is kept, and ends the writing.
type events struct {
	file *os.File
	to   *tensorboard.Writer
	err  error
}

// openEvents starts an event file in a directory, nil without one.
func openEvents(dir string) (*events, error) {
	if dir == "" {
		return nil, nil
	}
	if err := output.MakeDir(dir); err != nil {
		return nil, err
	}
	begun := time.Now()
	file, err := os.Create(tensorboard.FileName(dir, begun))
	if err != nil {
		return nil, fmt.Errorf("cannot write events: %w", err)
	}
	e := &events{file: file}
	e.to, e.err = tensorboard.New(file, begun)
	return e, nil
}

func (e *events) close() {
	if e != nil {
		e.file.Close()
	}
}

func (e *events) add(step int, values ...tensorboard.Value) {
	if e != nil && e.err == nil {
		e.err = e.to.Add(time.Now(), step, values...)
	}
}

// step writes a record of the training itself; trials have steps of their own.
func (e *events) step(r vqtrain.Record) {
	if e == nil || r.Progress.Doing != "" {
		return
	}
	line, err := json.Marshal(r)
	if err == nil {
		var values []tensorboard.Value
		if _, values, err = tensorboard.Record(line); err == nil {
			e.add(r.Step, values...)
		}
	}
	if e.err == nil {
		e.err = err
	}
}

// finish writes the configuration, the use of codes and pictures of the trained tokenizer.
func (e *events) finish(ctx context.Context, t *training, b *bundle.Bundle, result *outcome) {
	if e == nil {
		return
	}
	e.add(result.Steps, SummaryOf(b)...)
	if b.Tokenizer.Spec.Model.Pictures() {
		set, rows := t.data.HeldSet, t.data.Held
		if rows.Len() == 0 {
			set, rows = t.data.Set, t.data.Train
		}
		sample, err := picture.Take(ctx, result.Runtime, set, rows.Head(eventPictures), tokenizer.Options{})
		if err == nil {
			err = e.drawing(result.Steps, sample)
		}
		if e.err == nil {
			e.err = err
		}
	}
	if e.err != nil {
		t.watch.Remark("the events for TensorBoard are incomplete: %v", e.err)
	}
}

func (e *events) drawing(step int, sample *picture.Sample) error {
	grid, err := sample.Grid(eventPictures)
	if err != nil {
		return err
	}
	var content bytes.Buffer
	if err := png.Encode(&content, grid); err != nil {
		return err
	}
	size := grid.Bounds().Size()
	e.add(step, tensorboard.PNG("pictures", size.X, size.Y, content.Bytes()))
	return nil
}

// SummaryOf returns the configuration and the use of codes of a trained tokenizer for TensorBoard.
func SummaryOf(b *bundle.Bundle) []tensorboard.Value {
	values := []tensorboard.Value{
		tensorboard.Text("configuration", "```yaml\n"+withoutComments(b.Config)+"\n```"),
		tensorboard.Text("command", "`"+b.Manifest.Command+"`"),
	}
	for slot, counts := range b.Usage {
		values = append(values, tensorboard.Counts(fmt.Sprintf("codes/%d", slot), counts))
	}
	return values
}
