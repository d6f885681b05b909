package config_test

import (
	"fmt"
	"log"

	"github.com/gritvq/gritvq/config"
)

type training struct {
	Steps int     `yaml:"steps" doc:"optimizer steps"`
	Rate  float64 `yaml:"rate" doc:"learning rate"`
	Order string  `yaml:"order" doc:"how rows are drawn" enum:"shuffled|sequential"`
}

func Example() {
	settings := training{Steps: 1000, Rate: 0.001, Order: "shuffled"} // the defaults
	if err := config.Decode([]byte("steps: 500\n"), &settings); err != nil {
		log.Fatal(err)
	}
	if err := config.Set(&settings, "order=sequential"); err != nil {
		log.Fatal(err)
	}
	text, err := config.Render(settings)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(text))
	fmt.Println(config.Decode([]byte("setps: 2\n"), &settings))
	// Output:
	// # optimizer steps
	// steps: 500
	// # learning rate
	// rate: 0.001
	// # how rows are drawn
	// # one of: shuffled, sequential
	// order: sequential
	// unknown key "setps" at line 1: did you mean "steps"?
}
