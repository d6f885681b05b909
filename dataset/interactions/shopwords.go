package interactions

import "strings"

// shopTopic is a kind of goods of the built-in shop.
type shopTopic struct {
	department string
	category   string
	noun       string
	features   []string // some of which make up a title
}

// topicsPerDepartment is how many topics in a row share a department; buyers
// go through them in a circle.
const topicsPerDepartment = 4

// shopStyles begin the titles.
var shopStyles = strings.Fields("Light Sturdy Classic Compact Bright Quiet Deluxe Recycled")

// shopTopics are ordered by popularity, department by department.
var shopTopics = []shopTopic{
	{"Camping", "Tents", "Tent", strings.Fields("Dome Tunnel Alpine Beach Family Pop-up")},
	{"Camping", "Stoves", "Stove", strings.Fields("Gas Alcohol Wood Twin-burner Windproof Folding")},
	{"Camping", "Lanterns", "Lantern", strings.Fields("Solar Candle Rechargeable Hanging Dimmable Waterproof")},
	{"Camping", "Backpacks", "Backpack", strings.Fields("Trekking Hydration Roll-top Framed Rain Summit")},
	{"Kitchen", "Pans", "Pan", strings.Fields("Iron Copper Grill Wok Nonstick Ceramic")},
	{"Kitchen", "Knives", "Knife", strings.Fields("Paring Bread Santoku Boning Carving Steak")},
	{"Kitchen", "Kettles", "Kettle", strings.Fields("Whistling Gooseneck Electric Glass Enamel Travel")},
	{"Kitchen", "Bowls", "Bowl", strings.Fields("Mixing Salad Stoneware Bamboo Nesting Ramen")},
	{"Garden", "Spades", "Spade", strings.Fields("Digging Border Trenching Ash-handled Pointed Rabbiting")},
	{"Garden", "Hoses", "Hose", strings.Fields("Soaker Expanding Reinforced Coiled Sprinkler Drip")},
	{"Garden", "Seeds", "Seeds", strings.Fields("Tomato Lavender Wildflower Basil Pumpkin Sunflower")},
	{"Garden", "Planters", "Planter", strings.Fields("Terracotta Balcony Raised Self-watering Zinc Herb")},
	{"Music", "Guitars", "Guitar", strings.Fields("Acoustic Nylon Twelve-string Hollow-body Slide Parlor")},
	{"Music", "Drums", "Drum", strings.Fields("Snare Frame Bongo Cajon Practice Djembe")},
	{"Music", "Keyboards", "Keyboard", strings.Fields("Weighted Synth Arranger Portable Organ Controller")},
	{"Music", "Microphones", "Microphone", strings.Fields("Condenser Dynamic Ribbon Lapel USB Shotgun")},
	{"Art", "Brushes", "Brush", strings.Fields("Sable Fan Flat Mop Calligraphy Stencil")},
	{"Art", "Easels", "Easel", strings.Fields("Studio Table Tripod Field French A-frame")},
	{"Art", "Paints", "Paint", strings.Fields("Oil Gouache Acrylic Watercolor Fabric Chalk")},
	{"Art", "Sketchbooks", "Sketchbook", strings.Fields("Spiral Hardcover Cartridge Toned Kraft Panoramic")},
	{"Cycling", "Helmets", "Helmet", strings.Fields("Road Commuter Aero Child Downhill Vented")},
	{"Cycling", "Saddles", "Saddle", strings.Fields("Leather Gel Racing Touring Sprung Noseless")},
	{"Cycling", "Pumps", "Pump", strings.Fields("Floor Mini Shock Frame-mount Foot CO2")},
	{"Cycling", "Locks", "Lock", strings.Fields("Chain Cable U-shaped Wheel Combination Alarm")},
}
