package tensorboard

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Record turns a record of a training log, a JSON object, into the values of its step: numbers become scalars under the
// path of their keys, such as "held/mse", and its event becomes text. Lists of objects are left out.
func Record(line []byte) (step int, values []Value, err error) {
	var object map[string]any
	if err := json.Unmarshal(line, &object); err != nil {
		return 0, nil, fmt.Errorf("is no JSON object: %w", err)
	}
	number, ok := object["step"].(float64)
	if !ok {
		return 0, nil, fmt.Errorf("has no number \"step\"")
	}
	delete(object, "step")
	if what, ok := object["event"].(string); ok {
		values = append(values, Text("event", what))
	}
	return int(number), appendScalars(values, "", object), nil
}

func appendScalars(values []Value, path string, x any) []Value {
	switch x := x.(type) {
	case float64:
		return append(values, Scalar(path, x))
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			values = appendScalars(values, join(path, key), x[key])
		}
	case []any:
		for i, element := range x {
			if number, ok := element.(float64); ok {
				values = append(values, Scalar(join(path, strconv.Itoa(i)), number))
			}
		}
	}
	return values
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "/" + key
}

// AddLog writes the records of a log, one a line, as of one time: logs have none. It returns the last step and the number
// of records. A line that a killed run left unfinished at the end is skipped.
func (w *Writer) AddLog(log io.Reader, at time.Time) (last, records int, err error) {
	lines := bufio.NewReader(log)
	for {
		line, end := lines.ReadBytes('\n')
		if end != nil && end != io.EOF {
			return last, records, end
		}
		whole := end == nil
		if line = bytes.TrimSpace(line); len(line) > 0 {
			step, values, problem := Record(line)
			switch {
			case problem != nil && !whole:
			case problem != nil:
				return last, records, fmt.Errorf("line %d %w", records+1, problem)
			default:
				if err := w.Add(at, step, values...); err != nil {
					return last, records, err
				}
				last, records = step, records+1
			}
		}
		if !whole {
			return last, records, nil
		}
	}
}
