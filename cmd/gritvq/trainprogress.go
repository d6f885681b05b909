package main

import (
	"fmt"

	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/train/vqtrain"
)

// observe shows the training of a tokenizer.
func observe(t *task.Training) vqtrain.Observer {
	usage := "" // from the latest record that carries it
	return vqtrain.Observer{Status: t.Status, Step: func(r vqtrain.Record) {
		if r.Levels != nil {
			usage = fmt.Sprintf("  utilization %s  perplexity %s", report.Percent(r.Utilization, 1), report.Number(r.Perplexity, 4))
		}
		text := "loss " + report.Number(r.Loss, 3) + usage
		if r.Phase != "train" {
			text = r.Phase + "  " + text
		}
		t.Step(r.Step, text, r.Event)
	}}
}
