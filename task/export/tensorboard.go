package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/export/tensorboard"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/internal/output"
	"github.com/gritvq/gritvq/internal/usage"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/tokenize"
)

// toTensorBoard writes the log of a run, or of a tokenizer with its configuration and its use of codes.
func toTensorBoard(_ context.Context, o Options, _ task.Watcher) (Result, error) {
	if o.Input != "" || o.Codes != "" || o.IDs != "" || o.Levels != 0 || o.Beam != 0 {
		return Result{}, usage.Errorf("--data, --codes, --ids, --levels and --beam are not for --to tensorboard: a log has no codes")
	}
	path, more := o.Dir, ""
	var b *bundle.Bundle
	if info, err := os.Stat(o.Dir); err == nil && info.IsDir() {
		if b, err = bundle.Load(o.Dir); err != nil {
			return Result{}, err
		}
		path, more = filepath.Join(o.Dir, bundle.LogFile), ", with the configuration and the use of codes"
	}
	log, err := os.Open(path)
	if err != nil {
		if cause, ok := errors.AsType[*fs.PathError](err); ok {
			err = cause.Err
		}
		return Result{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return Result{}, fmt.Errorf("cannot read %s: %w", path, err)
	}
	at := info.ModTime() // logs have no times
	if _, _, err := add(io.Discard, log, path, info, nil); err != nil {
		return Result{}, err // before anything is written
	}
	if err := output.MakeDir(o.Output); err != nil {
		return Result{}, err
	}
	target, last, records := tensorboard.FileName(o.Output, at), 0, 0
	err = atomicfile.Write(target, func(w io.Writer) (err error) {
		if _, err = log.Seek(0, io.SeekStart); err == nil {
			last, records, err = add(w, log, path, info, b)
		}
		return err
	})
	if err != nil {
		return Result{}, err
	}
	if info, err = os.Stat(target); err != nil {
		return Result{}, fmt.Errorf("reading back the result: %w", err)
	}
	text := fmt.Sprintf("%s up to step %s%s", report.Counted(records, "record"), report.Count(last), more)
	return Result{Output: o.Output, Files: []File{{target, info.Size(), text}}}, nil
}

// add writes a log and, unless nil, the summary of a tokenizer.
func add(to io.Writer, log io.Reader, path string, info fs.FileInfo, b *bundle.Bundle) (last, records int, err error) {
	w, err := tensorboard.New(to, info.ModTime())
	if err != nil {
		return 0, 0, err
	}
	last, records, err = w.AddLog(log, info.ModTime())
	switch {
	case err != nil:
		return last, records, fmt.Errorf("%s: %w", path, err)
	case records == 0:
		return last, records, fmt.Errorf("%s has no records of a run", path)
	case b == nil:
		return last, records, nil
	}
	return last, records, w.Add(info.ModTime(), last, tokenize.SummaryOf(b)...)
}
