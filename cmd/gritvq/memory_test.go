package main

import (
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/gritvq/gritvq/cmd/gritvq/internal/cli"
)

// statusFile names the environment variable of a file that takes the process's status when gritvq ends.
const statusFile = "GRITVQ_STATUS_FILE"

// measuredMain is gritvq, which leaves its status behind if it is asked to.
func measuredMain() {
	code := cli.Execute(os.Args[1:], cli.System(), newRootCommand)
	if path := os.Getenv(statusFile); path != "" {
		status, err := os.ReadFile("/proc/self/status")
		check(err)
		check(os.WriteFile(path, status, 0o644))
	}
	os.Exit(code)
}

// A command takes no more memory than it announced.
func TestMemoryIsAnnounced(t *testing.T) {
	t.Setenv(cacheVariable, t.TempDir())
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("it takes a while, and asks Linux")
	}
	dir := t.TempDir()
	stored, err := filepath.Abs("../../testdata/stored")
	must(t, err)
	writeLarge(t, dir)
	for _, c := range []struct{ name, command string }{
		{"train", "train synthetic:mixture?rows=200000&dim=64 -o tok --codes 64 --levels 2 --method rq --steps 4"},
		{"train a network", "train synthetic:manifold?rows=20000 -o net --dim 16 --hidden 1024,1024 --codes 128 --levels 1 " +
			"--batch 8192 --steps 2 --set train.choose=[]"},
		{"train pictures", "train synthetic:scenes?images=150 -o pics --size 64 --down 8 --width 8,16,16,16 --codes 64 --dim 32 " +
			"--batch 32 --steps 2"},
		{"encode", "encode tok synthetic:mixture?rows=500000&dim=64 -o codes.npy"},
		{"decode", "decode tok codes.npy -o decoded.npy"},
		{"encode pictures", "encode pics synthetic:scenes?images=300 -o pics.npy"},
		{"eval", "eval tok synthetic:mixture?rows=200000&dim=64"},
		{"search", "search tok codes.npy synthetic:mixture?rows=100&dim=64 -k 10 -o found.npy"},
		{"ids", "ids synthetic:shop?users=2000&items=4000 -o ids --codes 64 --levels 2 --method rq --hidden none --steps 4"},
		{"recommend train", "recommend train ids synthetic:shop?users=2000&items=4000 -o rec --steps 2 --batch 128 --prior popularity"},
		{"recommend ease", "recommend train ids synthetic:shop?users=2000&items=4000 -o ease --model ease --set model.l2=100"},
		{"recommend eval", "recommend eval rec synthetic:shop?users=1000&items=4000"},
		{"prior train", "prior train pics synthetic:scenes?images=150 -o prior --layers 2 --width 64 --heads 4 --steps 2 --batch 32"},
		{"sample", "sample prior -n 64 -o drawn.npy"},
		{"prior eval", "prior eval prior synthetic:scenes?images=100"},
		{"grid", "grid pics synthetic:scenes?images=60 -o grid.png --images 60"},
		{"decode pictures", "decode pics pics.npy -o drawn"},
		{"score", "score drawn synthetic:scenes?images=60 --metrics networks"},
		{"large picture", "encode " + filepath.Join(stored, "pictures") + " large.png -o large.gvq"},
		{"titles", "ids large.jsonl -o titles --codes 64 --levels 2 --method rq --hidden none --steps 4 --dim 0"},
		{"ids add", "ids add titles more.jsonl"},
		{"table", "train large.csv -o table --codes 16 --levels 1 --method rq --steps 2"},
		{"recommend transitions", "recommend train ids large.txt -o transitions --model transitions"},
		{"recommend ask", "recommend ask transitions --users large.txt -k 5 -o answers.parquet"},
		{"recommend eval of a log", "recommend eval transitions large.txt --per-user users.csv --no-references"},
		{"retrieve train", "retrieve train titles derived -o words --model bm25"},
		{"retrieve eval", "retrieve eval words derived?count=2000 --no-references"},
		{"compare", "compare synthetic:mixture?rows=100000&dim=64 -o compared --methods kmeans,rq --codes 32 --levels 2 --steps 2"},
		{"export", "export tok --to faiss -o index.faiss --data synthetic:mixture?rows=300000&dim=64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command("gritvq", append(strings.Fields(c.command), "--debug")...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), statusFile+"="+filepath.Join(dir, "status"))
			output, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			status, err := os.ReadFile(filepath.Join(dir, "status"))
			if err != nil {
				t.Fatal(err)
			}
			taken, planned := number(t, `VmHWM:\s*(\d+) kB`, status)/1024, announcedMiB(t, output)
			t.Logf("%.0f MiB of %.0f MiB", taken, planned)
			if taken > planned {
				t.Errorf("took %.0f MiB and announced %.0f MiB\n%s", taken, planned, output)
			}
		})
	}
}

// writeLarge writes networks of scores and files of several kinds whose content takes hundreds of megabytes in memory.
func writeLarge(t *testing.T, dir string) {
	t.Helper()
	must(t, writeNetworks(filepath.Join(dir, "networks")))
	rng := rand.New(rand.NewPCG(1, 2))
	write := func(name string, lines, words int, separator, begin, word, end string) {
		var text strings.Builder
		for i := range lines {
			fmt.Fprintf(&text, begin, i+1)
			for n := range words {
				if n > 0 {
					text.WriteString(separator)
				}
				fmt.Fprintf(&text, word, 1+rng.IntN(4000))
			}
			text.WriteString(end)
		}
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o644))
	}
	write("large.txt", 60000, 20, " ", "user%d ", "item%d", "\n")
	for _, name := range []string{"large", "more"} {
		write(name+".jsonl", 4000, 10, " ", `{"id":"`+name+`%d","title":"`, "word%d", "\",\"categories\":[\"a\"]}\n")
	}
	write("large.csv", 20000, 64, ",", "%d,", "%d.5", "\n")
	file, err := os.Create(filepath.Join(dir, "large.png"))
	must(t, err)
	must(t, png.Encode(file, image.NewNRGBA64(image.Rect(0, 0, 3000, 3000))))
	must(t, file.Close())
}

// number returns what the first group of a pattern holds.
func number(t *testing.T, pattern string, text []byte) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s is not in %s", pattern, text)
	}
	n, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// announcedMiB is the last plan that a command told.
func announcedMiB(t *testing.T, output []byte) float64 {
	t.Helper()
	plans := regexp.MustCompile(`: up to ([0-9.]+) (\w+) of memory in all`).FindAllSubmatch(output, -1)
	if plans == nil {
		return 192 // as much as any command takes
	}
	last := plans[len(plans)-1]
	size, err := strconv.ParseFloat(string(last[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return size * map[string]float64{"MiB": 1, "GiB": 1024}[string(last[2])]
}
