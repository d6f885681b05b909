package interactions_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gritvq/gritvq/dataset/interactions"
)

func ExampleOpen() {
	bought, err := interactions.Open(context.Background(), "synthetic:shop?users=500&items=200&seed=7",
		interactions.Options{MinUser: 5, MinItem: 5})
	if err != nil {
		log.Fatal(err)
	}
	stats := bought.Stats()
	fmt.Printf("%d users, %d items, %.1f items a user\n", stats.Users, stats.Items, stats.MeanLength)
	history, target, _ := bought.Test(0)
	for _, item := range interactions.Recent(history, 3) {
		fmt.Println("bought", bought.Item(int(item)))
	}
	fmt.Println("then  ", bought.Item(int(target)))
	// Output:
	// 497 users, 191 items, 9.0 items a user
	// bought item83
	// bought item179
	// bought item180
	// then   item81
}

func ExampleNewShop() {
	shop := interactions.NewShop(100, 200, 16, 1)
	for _, item := range shop.Catalogue.Items[:3] {
		fmt.Println(item.Text)
	}
	// Output:
	// Compact Beach Tunnel Tent 1. Camping, Tents
	// Bright Alcohol Folding Stove 2. Camping, Stoves
	// Recycled Hanging Waterproof Lantern 3. Camping, Lanterns
}

func ExampleDeriveQueries() {
	shop := interactions.NewShop(1, 200, 16, 1)
	queries, err := interactions.DeriveQueries(shop.Catalogue, interactions.DeriveOptions{Count: 2, Seed: 3})
	if err != nil {
		log.Fatal(err)
	}
	for _, query := range queries.List {
		fmt.Printf("%q (%s) is answered by\n", query.Text, query.Part)
		for _, row := range query.Answers {
			fmt.Println(" ", shop.Catalogue.Items[row].Title)
		}
	}
	// Output:
	// "light paring knives" (train) is answered by
	//   Light Steak Paring Knife 30
	//   Light Steak Paring Knife 54
	// "light snare drums" (train) is answered by
	//   Light Practice Snare Drum 158
}
