package catalogue_test

import (
	"fmt"
	"log"
	"os"

	"github.com/gritvq/gritvq/task/catalogue"
)

func Example() {
	// Codes of four items from a tokenizer of two levels; two items share theirs.
	codes := []uint32{5, 1, 5, 1, 5, 2, 7, 0}
	table, err := catalogue.Build(codes, []int{8, 4}, []string{"tent", "larger tent", "stove", "guitar"}, catalogue.BuildOptions{})
	if err != nil {
		log.Fatal(err)
	}
	stats := table.Stats()
	fmt.Printf("collisions: %.0f %% before, %.0f %% after\n", 100*stats.Before.Rate, 100*stats.After.Rate)
	for row := range table.Under([]uint32{5}) {
		fmt.Println(table.ID(row), table.Key(row))
	}
	if err := table.Add([]uint32{5, 1}, []string{"beach tent"}, nil); err != nil {
		log.Fatal(err)
	}
	for row := range table.Under([]uint32{5, 1, 2}) {
		fmt.Println("version", table.Version(), "knows", table.Key(row))
	}

	dir, err := os.MkdirTemp("", "ids")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := table.Save(dir); err != nil {
		log.Fatal(err)
	}
	loaded, err := catalogue.Load(dir)
	if err != nil {
		log.Fatal(err)
	}
	row, _ := loaded.Row("stove")
	fmt.Println("stove is", loaded.ID(row))
	// Output:
	// collisions: 25 % before, 0 % after
	// [5 1 0] tent
	// [5 1 1] larger tent
	// [5 2 0] stove
	// version 2 knows beach tent
	// stove is [5 2 0]
}

func ExampleTextEncoder() {
	titles := []string{"Dome tent", "Beach tent", "Gas stove", "Wood stove", "Tent pole"}
	encoder, err := catalogue.FitText(titles, 2)
	if err != nil {
		log.Fatal(err)
	}
	vectors := encoder.Encode([]string{"Large tent", "Beach tent", "Small stove"})
	cosine := func(i, j int) float32 { return vectors[2*i]*vectors[2*j] + vectors[2*i+1]*vectors[2*j+1] }
	fmt.Println("tents are alike:", cosine(0, 1) > 0.99, "- a stove is like a tent:", cosine(0, 2) > 0.01)
	// Output: tents are alike: true - a stove is like a tent: false
}
