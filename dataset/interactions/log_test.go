package interactions

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
)

const sequences = "ann 7 8 7 x\nben 8 7\n\ncy x x x\n"

func TestSequences(t *testing.T) {
	l := mustOpen(t, writeFile(t, "s.txt", sequences), Options{})
	if got := render(l); got != "ann 7 8 7 x\nben 8 7\ncy x x x\n" {
		t.Errorf("got %q", got)
	}
	if l.Users() != 3 || l.Items() != 3 || l.Len() != 9 || !slices.Equal(l.items, []string{"7", "8", "x"}) {
		t.Errorf("%d users, %d interactions, items %v", l.Users(), l.Len(), l.items)
	}
	want := Stats{Users: 3, Items: 3, Interactions: 9, MeanLength: 3, MedianLength: 3, Shortest: 2, Longest: 4, Density: 1, Repeats: 3}
	if got := l.Stats(); got != want {
		t.Errorf("got %+v", got)
	}
	if got := render(mustOpen(t, writeFile(t, "s.txt", "\xef\xbb\xbf"+sequences), Options{})); got != render(l) {
		t.Errorf("behind a byte order mark: %q", got)
	}
	_, err := Open(context.Background(), writeFile(t, "s.txt", "ann 1 2\nben\n"), Options{})
	wantError(t, err, "line 2", `"ben" without items`)
	_, err = Open(context.Background(), writeFile(t, "s.txt", "ann 1 2\nann 3\n"), Options{})
	wantError(t, err, "line 2", `repeats user "ann"`)
	_, err = Open(context.Background(), writeFile(t, "s.txt", "\n \n"), Options{})
	wantError(t, err, "no interactions")
}

// A log has one fingerprint in every layout, and another after any change.
func TestFingerprint(t *testing.T) {
	of := func(name, text string) string { return mustOpen(t, writeFile(t, name, text), Options{}).Fingerprint() }
	own := of("s.txt", sequences)
	if got := of("other.csv", "user,item,time\nann,7,1\nann,8,2\nann,7,3\nann,x,4\nben,8,1\nben,7,2\ncy,x,1\ncy,x,2\ncy,x,3\n"); got != own {
		t.Error("the same log has two fingerprints")
	}
	shuffled := "cy x x x\nben 8 7\nann 7 8 7 x\n"
	if of("s.txt", shuffled) != own {
		t.Error("the order of users changes the fingerprint")
	}
	if mustOpen(t, writeFile(t, "s.txt", shuffled), Options{}).Order() == mustOpen(t, writeFile(t, "s.txt", sequences), Options{}).Order() {
		t.Error("the order of users is not told")
	}
	for _, text := range []string{"ann 7 8 7\nben 8 7\ncy x x x\n", "ann 7 8 7 x\nben 7 8\ncy x x x\n", "ann 7 8 7 x\nbob 8 7\ncy x x x\n",
		"ann 7 8 7 x 8\nben 7\ncy x x x\n"} {
		if of("s.txt", text) == own {
			t.Errorf("%q has the fingerprint of another log", text)
		}
	}
}

// One log in every layout that tables come in.
func TestTables(t *testing.T) {
	const want = "2 b a a\n1 c a b\n" // a, twice at one time, stays behind b of row 3
	for name, c := range map[string]struct {
		file, content string
		opt           Options
	}{
		"header": {"t.csv", "timestamp,userId,rating,movieId\n5,2,1,b\n9,1,1,a\n6,2,1,a\n6,2,1,a\n9,1,1,b\n8,1,1,c\n", Options{}},
		"chosen names": {"t.csv", "who,what,when\n2,b,5\n1,a,9\n2,a,6\n2,a,6\n1,b,9\n1,c,8\n",
			Options{User: "who", Item: "what", Time: "when"}},
		"by order":     {"t.csv", "2,b,5\n1,a,9\n2,a,6\n2,a,6\n1,b,9\n1,c,8\n", Options{}},
		"four columns": {"t.csv", "2,b,1,5\n1,a,1,9\n2,a,1,6\n2,a,1,6\n1,b,1,9\n1,c,1,8\n", Options{User: "1", Item: "2", Time: "4"}},
		"some chosen": {"t.csv", "timestamp,visitorid,event,itemid\n5,2,v,b\n9,1,v,a\n6,2,v,a\n6,2,v,a\n9,1,v,b\n8,1,v,c\n",
			Options{User: "visitorid", Item: "4"}},
		"by number":       {"t.csv", "5,2,b\n9,1,a\n6,2,a\n6,2,a\n9,1,b\n8,1,c\n", Options{User: "2", Item: "3", Time: "1"}},
		"mark and blanks": {"t.csv", "\xef\xbb\xbfuser, item, time\n2, b, 5\n1, a, 9\n2,a,6\n2,a,6\n1,b,9\n1,c, 8\n", Options{}},
		"in order":        {"t.csv", "user,item\n2,b\n1,c\n2,a\n1,a\n2,a\n1,b\n", Options{}},
		"order claimed":   {"t.csv", "user,item,price\n2,b,1\n1,c,1\n2,a,1\n1,a,1\n2,a,1\n1,b,1\n", Options{Time: "-"}},
		"two columns":     {"t.csv", "2,b\n1,c\n2,a\n1,a\n2,a\n1,b\n", Options{}},
		"tabs": {"t.tsv", "user\titem\ttime\ttitle\n2\tb\t5\tthe \"best\n1\ta\t9\t\n2\ta\t6\t\n2\ta\t6\t\n1\tb\t9\t\n1\tc\t8\t\n",
			Options{}},
		"double colons": {"t.dat", "2::b::4::5\n1::a::1::9\n2::a::1::6\n2::a::1::6\n1::b::1::9\n1::c::1::8\n", Options{}},
		"dates": {"t.csv", "user,item,date\n2,b,2020-01-02\n1,a,2020-01-09 12:00:00\n2,a,2020-01-03\n2,a,2020-01-03\n1,b,2020-01-09 " +
			"12:00:00\n1,c,2020-01-09T11:59:59Z\n", Options{}},
		"semicolons": {"t.csv", "user;item;time\n2;b;5\n1;a;9\n2;a;6\n2;a;6\n1;b;9\n1;c;8\n", Options{}},
		"bars":       {"t.csv", "2|b|5\n1|a|9\n2|a|6\n2|a|6\n1|b|9\n1|c|8\n", Options{}},
		"bars, psv":  {"t.psv", "user|item|time|tags\n2|b|5|,,,,\n1|a|9|\n2|a|6|\n2|a|6|\n1|b|9|\n1|c|8|\n", Options{}},
		"MovieLens-100k": {"u.data", "2\tb\t1\t5\n1\ta\t1\t9\n2\ta\t1\t6\n2\ta\t1\t6\n1\tb\t1\t9\n1\tc\t1\t8\n",
			Options{User: "1", Item: "2", Time: "4"}},
		"decimals": {"t.csv", "2,b,5\n1,a,9.25\n2,a,6e0\n2,a,6\n1,b,9.25\n1,c,-8\n", Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := render(mustOpen(t, writeFile(t, c.file, c.content), c.opt)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// A table without times says so, also when a part of it is kept.
func TestOrderOfTheFile(t *testing.T) {
	type row struct {
		User string `parquet:"user"`
		Item string `parquet:"item"`
	}
	for name, c := range map[string]struct {
		file, content string
		opt           Options
		want          bool
	}{
		"two columns": {"t.csv", "1,a\n1,b\n2,a\n", Options{MinUser: 2}, true},
		"claimed":     {"t.csv", "1,a,9\n1,b,8\n", Options{Time: "-"}, true},
		"parquet":     {"t.parquet", parquetText(t, []row{{"1", "a"}, {"1", "b"}}), Options{}, true},
		"times":       {"t.csv", "1,a,9\n1,b,8\n", Options{}, false},
		"sequences":   {"t.txt", "1 a b\n", Options{}, false},
		"shop":        {"", "", Options{}, false},
	} {
		path := "synthetic:shop?users=5&items=9"
		if c.file != "" {
			path = writeFile(t, c.file, c.content)
		}
		if got := mustOpen(t, path, c.opt).InFileOrder(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTablesThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		opt           Options
		want          []string
	}{
		"many columns": {"t.csv", "1,2,3,4\n", Options{}, []string{"name for the user", "choose the columns", `"1" "2" "3" "4"`,
			"(user, user_id, userid,"}},
		"forgotten time": {"t.csv", "user,item,rated_at\n1,2,3\n", Options{}, []string{"name for the time",
			`choose the columns, and "-" for the time`, "rated_at"}},
		"unknown name":     {"t.csv", "user,item,time\n1,2,3\n", Options{Item: "song"}, []string{`no column "song" for the item`}},
		"number too large": {"t.csv", "1,2,3\n", Options{User: "1", Item: "2", Time: "4"}, []string{`no column "4" for the time`}},
		"one for two":      {"t.csv", "1,2,3\n", Options{User: "1", Item: "1", Time: "3"}, []string{"cannot be two"}},
		"foreign header":   {"t.csv", "kunde,ware,zeit\n1,2,3\n", Options{}, []string{"line 1", `"zeit"`, "choose the columns, by name"}},
		"no table":         {"t.txt", "1 2 3\n", Options{User: "1", Item: "2"}, []string{"no table", ".csv", ".psv"}},
		"table as text":    {"t.txt", "who|what\nann|a\n", Options{}, []string{`user "who|what" without items`, "name it .csv, .tsv or .psv"}},
		"no time":          {"t.csv", "user,item,time\n1,2,soon\n", Options{}, []string{"line 2", `"soon"`, "neither a number nor a date"}},
		"infinite time":    {"t.csv", "1,2,inf\n", Options{}, []string{"line 1", "not finite"}},
		"empty item":       {"t.csv", "user,item,time\n1,a,3\n2,,4\n", Options{}, []string{"line 3", "lacks its user or item"}},
		"ragged":           {"t.csv", "1,2,3\n1,2\n", Options{}, []string{"wrong number of fields"}},
		"ragged dat":       {"t.dat", "1::2::3::4\n1::2\n", Options{}, []string{"line 2 has 2 columns"}},
		"only a header":    {"t.csv", "user,item,time\n", Options{}, []string{"no interactions"}},
		"other extension":  {"t.xyz", "1,2,3\n", Options{}, []string{"no known format", ".parquet"}},
		"compressed":       {"t.csv", "\x1f\x8b\x08", Options{}, []string{"compressed"}},
		"empty":            {"t.csv", "", Options{}, []string{"empty"}},
		"no core":          {"t.csv", "1,2,3\n", Options{MinUser: 2}, []string{"no user", "has 2 interactions"}},
		"not parquet":      {"t.parquet", "1,2,3\nand so on", Options{}, []string{"is no parquet file but text", ".csv"}},
		"UTF-16":           {"t.csv", "\xff\xfeu\x00s\x00", Options{}, []string{"UTF-16", "UTF-8"}},
		"compressed lines": {"t.txt", "\x1f\x8b\x08", Options{}, []string{"compressed"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, c.file, c.content)
			_, err := Open(context.Background(), path, c.opt)
			wantError(t, err, append(c.want, path)...)
		})
	}
	_, err := Open(context.Background(), t.TempDir(), Options{})
	wantError(t, err, "directory")
	_, err = Open(context.Background(), "none.txt", Options{})
	wantError(t, err, "check the path")
}

func TestReadingStops(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for _, file := range []string{writeFile(t, "s.txt", sequences), writeFile(t, "t.csv", "1,2,3\n")} {
		if _, err := Open(ctx, file, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

func TestParquetTables(t *testing.T) {
	type row struct {
		Time  time.Time `parquet:"timestamp,timestamp"`
		User  int64     `parquet:"user_id"`
		Item  string    `parquet:"item_id,dict"`
		Float *float64  `parquet:"float,optional"`
		Tags  []string  `parquet:"tags,list"`
	}
	random := rand.New(rand.NewPCG(1, 2))
	var rows []row
	var text string
	for i := range 3000 {
		user := float64(random.IntN(60))
		r := row{time.Unix(int64(random.IntN(400)), 0), int64(user), fmt.Sprint("i", random.IntN(90)), &user, []string{"a", "b"}}
		rows = append(rows, r)
		text += fmt.Sprintf("%d,%s,%d\n", r.User, r.Item, r.Time.Unix())
		if i == 0 {
			text = "user,item,time\n" + text
		}
	}
	path := writeFile(t, "t.parquet", parquetText(t, rows))
	want := render(mustOpen(t, writeFile(t, "t.csv", text), Options{}))
	if got := render(mustOpen(t, path, Options{})); got != want {
		t.Error("parquet and CSV differ")
	}
	if got := render(mustOpen(t, path, Options{User: "float"})); got != want {
		t.Error("whole floats are not read as the integers they are")
	}
	if got := render(mustOpen(t, path, Options{User: "2", Item: "item_id", Time: "1"})); got != want {
		t.Error("columns that are chosen by number are others")
	}
	if got := render(mustOpen(t, path, Options{Time: "-"})); got == want {
		t.Error("rows that are said to be in order were sorted")
	}
	_, err := Open(context.Background(), path, Options{Item: "tags"})
	wantError(t, err, `no column "tags"`)
	rows[1500].Float = nil
	_, err = Open(context.Background(), writeFile(t, "t.parquet", parquetText(t, rows)), Options{User: "float"})
	wantError(t, err, "row 1500", "lacks its user")
}

func TestDamagedParquetNeverPanics(t *testing.T) {
	type row struct {
		User string `parquet:"user"`
		Item string `parquet:"item"`
	}
	good := parquetText(t, []row{{"a", "x"}, {"a", "y"}, {"b", "x"}})
	failed := 0
	for at := range len(good) {
		bad := []byte(good)
		bad[at] ^= 0x15
		if _, err := Open(context.Background(), writeFile(t, "t.parquet", string(bad)), Options{}); err != nil {
			failed++
		}
	}
	if failed < len(good)/4 {
		t.Errorf("only %d of %d damages were noticed", failed, len(good))
	}
}

func TestInt96Times(t *testing.T) {
	day := func(julian uint32, nanoseconds uint64) parquet.Value {
		return parquet.Int96Value([3]uint32{uint32(nanoseconds), uint32(nanoseconds >> 32), julian})
	}
	early, _ := parseTime(valueText(day(2_440_588, 86_399_999_999_999)))
	late, err := parseTime(valueText(day(2_440_589, 0)))
	if err != nil || !(early < late) || late != 86400 {
		t.Errorf("%g and %g, %v", early, late, err)
	}
}

// Names are the same in UTF-8 and in Latin-1.
func TestLatin1Logs(t *testing.T) {
	const want = "zoë café thé\n"
	for file, content := range map[string]string{"s.txt": "zo\xeb caf\xe9 th\xe9\n", "t.csv": "user,item\nzo\xeb,caf\xe9\nzoë,thé\n"} {
		if got := render(mustOpen(t, writeFile(t, file, content), Options{})); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
