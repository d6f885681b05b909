package images

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// squareOf returns the square that was cut for a position.
func squareOf(batch []uint8, size, position int) []uint8 {
	return batch[position*size*size*3 : (position+1)*size*size*3]
}

func TestCentreIsTheMiddleOfTheReducedPicture(t *testing.T) {
	root := writeFolder(t, []file{{"a.png", pngOf(t, drawScene(1, 0, 90).middle(90, 60))}, {"b.png", pngOf(t, drawScene(1, 1, 17))}})
	set := mustOpen(t, root, Options{Size: 32, Short: 40})
	got := make([]uint8, 2*32*32*3)
	if damaged, err := set.Centre([]int{0, 1}, got); err != nil || damaged != nil {
		t.Fatal(damaged, err)
	}
	reduced := resize(drawScene(1, 0, 90).middle(90, 60), 60, 40) // short side to 40
	if !bytes.Equal(squareOf(got, 32, 0), reduced.middle(32, 32).Pix) {
		t.Error("the square of the large picture is another one")
	}
	if !bytes.Equal(squareOf(got, 32, 1), resize(drawScene(1, 1, 17), 32, 32).Pix) {
		t.Error("the small picture was not enlarged to the square")
	}
}

// findSquare returns where in p the square lies, or ok = false.
func findSquare(p *RGB, square []uint8, size int) (left, top int, mirror, ok bool) {
	candidate := make([]uint8, size*size*3)
	for top := range p.Height - size + 1 {
		for left := range p.Width - size + 1 {
			for _, mirror := range []bool{false, true} {
				if p.square(left, top, size, mirror, candidate); bytes.Equal(candidate, square) {
					return left, top, mirror, true
				}
			}
		}
	}
	return 0, 0, false, false
}

func TestCropsLieEverywhereAndAreMirroredHalfOfTheTime(t *testing.T) {
	const size, batch, steps = 12, 40, 10
	set := mustOpen(t, "synthetic:scenes?images=4&size=15", Options{Size: size, Short: 15})
	rows := make([]int, batch)
	for i := range rows {
		rows[i] = i % 4
	}
	places, mirrored := map[[2]int]int{}, 0
	got := make([]uint8, batch*size*size*3)
	for step := range int64(steps) {
		if _, err := set.Crops(rows, 5, step, got); err != nil {
			t.Fatal(err)
		}
		for i, row := range rows {
			left, top, mirror, ok := findSquare(drawScene(1, row, 15), squareOf(got, size, i), size)
			if !ok {
				t.Fatalf("step %d, position %d: no part of picture %d", step, i, row)
			}
			places[[2]int{left, top}]++
			if mirror {
				mirrored++
			}
		}
	}
	const total = batch * steps
	if len(places) != 16 {
		t.Errorf("squares at %d of 16 places", len(places))
	}
	for place, count := range places { // 25 expected, standard deviation 4.8
		if math.Abs(float64(count)-total/16) > 5*4.8 {
			t.Errorf("%d of %d squares at %v", count, total, place)
		}
	}
	if math.Abs(float64(mirrored)-total/2) > 5*10 { // standard deviation 10
		t.Errorf("%d of %d mirrored", mirrored, total)
	}
}

func TestCropsDependOnSeedStepAndPositionAlone(t *testing.T) {
	const size = 8
	rows := []int{3, 1, 2, 0, 3}
	crops := func(options Options, rows []int, seed uint64, step int64) []uint8 {
		t.Helper()
		options.Size, options.Short = size, 24
		got := make([]uint8, len(rows)*size*size*3)
		if _, err := mustOpen(t, "synthetic:scenes?images=4&size=24", options).Crops(rows, seed, step, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := crops(Options{}, rows, 7, 100)
	for name, options := range map[string]Options{"one worker": {Workers: 1}, "many workers": {Workers: 9}, "no cache": {Cache: -1}} {
		if !bytes.Equal(crops(options, rows, 7, 100), want) {
			t.Errorf("%s: other squares", name)
		}
	}
	if !bytes.Equal(crops(Options{}, rows[:2], 7, 100), want[:2*size*size*3]) {
		t.Error("the squares depend on the rest of the batch")
	}
	if bytes.Equal(crops(Options{}, rows, 8, 100), want) || bytes.Equal(crops(Options{}, rows, 7, 101), want) {
		t.Error("another seed or step, the same squares")
	}
	if bytes.Equal(squareOf(want, size, 0), squareOf(want, size, 4)) {
		t.Error("the same picture twice in a batch was cut alike")
	}
}

func TestADamagedPictureIsReplacedByTheNextGoodOne(t *testing.T) {
	const size = 16
	good := func(i int) file { return file{fmt.Sprintf("%d.png", i), pngOf(t, drawScene(1, i, size))} }
	bad := func(i int) file { return file{fmt.Sprintf("%d.png", i), []byte("no picture")} }
	root := writeFolder(t, []file{good(0), bad(1), bad(2), good(3), good(4), bad(5)})
	var warned []string
	set := mustOpen(t, root, Options{Size: size, Short: size, Warn: func(d Damage) { warned = append(warned, d.Key) }})
	rows := []int{0, 1, 2, 4, 5}
	got := make([]uint8, len(rows)*size*size*3)
	for range 2 { // the second time damage is known
		damaged, err := set.Centre(rows, got)
		if err != nil || !slices.Equal(damaged, []int{1, 2, 4}) {
			t.Fatalf("damaged %v, %v", damaged, err)
		}
		for position, scene := range []int{0, 4, 4, 4, 0} { // the last one goes round
			if !bytes.Equal(squareOf(got, size, position), drawScene(1, scene, size).Pix) {
				t.Errorf("position %d does not show picture %d", position, scene)
			}
		}
		if damaged, err := set.Crops(rows, 1, 1, got); err != nil || len(damaged) != 3 {
			t.Fatalf("damaged %v, %v", damaged, err)
		}
	}
	slices.Sort(warned)
	if !slices.Equal(warned, []string{"1", "2", "5"}) {
		t.Errorf("warned of %q, want each once", warned)
	}
	var listed []string
	for _, damage := range set.damagedSoFar() {
		listed = append(listed, damage.Key)
		if !strings.Contains(damage.Err.Error(), "is no JPEG") {
			t.Errorf("reason %v", damage.Err)
		}
	}
	if !slices.Equal(listed, []string{"1", "2", "5"}) {
		t.Errorf("listed %q", listed)
	}
	if _, err := set.Crops([]int{1, 2}, 1, 1, got[:2*size*size*3]); err == nil || !strings.Contains(err.Error(), "none of the 2 pictures") {
		t.Errorf("a batch of damaged pictures: %v", err)
	}
}

func TestWhatFitsIsDecodedOnce(t *testing.T) {
	const size, cost = 16, 16 * 16 * 3
	for _, c := range []struct {
		cache       int64
		wantDamaged []int
	}{{0, nil}, {2*cost + cost/2, []int{2, 3}}, {-1, []int{0, 1, 2, 3}}} {
		root := writeFolder(t, []file{
			{"0.png", pngOf(t, drawScene(1, 0, size))}, {"1.png", pngOf(t, drawScene(1, 1, size))},
			{"2.png", pngOf(t, drawScene(1, 2, size))}, {"3.png", pngOf(t, drawScene(1, 3, size))},
		})
		set := mustOpen(t, root, Options{Size: size, Short: size, Cache: c.cache, Workers: 1})
		rows, got := []int{0, 1, 2, 3}, make([]uint8, 4*cost)
		if _, err := set.Centre(rows, got); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
		damaged, err := set.Centre(rows, got)
		if len(c.wantDamaged) == len(rows) {
			if err == nil {
				t.Error("without a cache the removed files were still there")
			}
		} else if err != nil || !slices.Equal(damaged, c.wantDamaged) {
			t.Errorf("cache %d: damaged %v, %v, want %v", c.cache, damaged, err, c.wantDamaged)
		}
	}
}

func TestAnEndlessSetTakesLittleMemory(t *testing.T) {
	set := mustOpen(t, "synthetic:scenes?images=2000000000&size=8", Options{Size: 8, Cache: 100 * 8 * 8 * 3})
	if len(set.cache) != 100 {
		t.Fatalf("room for %d pictures", len(set.cache))
	}
	if _, err := set.Centre([]int{0, 1_999_999_999}, make([]uint8, 2*8*8*3)); err != nil {
		t.Fatal(err)
	}
}

func TestConcurrentCallsAgree(t *testing.T) {
	const size = 8
	set := mustOpen(t, "synthetic:scenes?images=50&size=12", Options{Size: size, Short: 12, Cache: 20 * 12 * 12 * 3, Workers: 3})
	rows := make([]int, 100)
	for i := range rows {
		rows[i] = i * 7 % 50
	}
	want := make([]uint8, len(rows)*size*size*3)
	if _, err := set.Crops(rows, 3, 4, want); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got := make([]uint8, len(want))
			if _, err := set.Crops(rows, 3, 4, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("another batch, %v", err)
			}
		})
	}
	group.Wait()
	if spent := set.spent.Load(); spent != 20*12*12*3 {
		t.Errorf("the cache holds %d bytes of %d", spent, 20*12*12*3)
	}
}

func TestWrongBatchesAreRefused(t *testing.T) {
	set := mustOpen(t, "synthetic:scenes?images=3&size=8", Options{Size: 8})
	for reason, call := range map[string]func() error{
		"has the pictures 0 to 2, but picture 3": func() error { _, err := set.Centre([]int{3}, make([]uint8, 192)); return err },
		"but picture -1":                         func() error { _, err := set.Whole(-1); return err },
		"2 squares of 8 pixels take 384 bytes":   func() error { _, err := set.Crops([]int{0, 1}, 0, 0, make([]uint8, 192)); return err },
		"without a size of squares": func() error {
			_, err := mustOpen(t, "synthetic:scenes", Options{}).Centre([]int{0}, nil)
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("error %v, want one with %q", err, reason)
		}
	}
	closed := mustOpen(t, written(t, "x.tar", tarOf(t, []file{{"a.jpg", photo(t, 0)}})), Options{Size: 8})
	closed.Close()
	if _, err := closed.Centre([]int{0}, make([]uint8, 192)); err == nil || len(closed.damagedSoFar()) > 0 {
		t.Errorf("reading a closed set: %v, damaged %v", err, closed.damagedSoFar())
	}
}

// Read is Centre without damaged pictures, Draw is Crops.
func TestReadLeavesOutDamagedPictures(t *testing.T) {
	const size = 16
	good := func(i int) file { return file{fmt.Sprintf("%d.png", i), pngOf(t, drawScene(1, i, size))} }
	set := mustOpen(t, writeFolder(t, []file{good(0), {"1.png", []byte("no picture")}, good(2)}), Options{Size: size, Short: size})
	items, kept, err := set.Read([]int{2, 1, 0})
	want := append(slices.Clone(drawScene(1, 2, size).Pix), drawScene(1, 0, size).Pix...)
	if err != nil || items.N != 2 || !slices.Equal(kept, []int{2, 0}) || !bytes.Equal(items.Pixels, want) {
		t.Errorf("%d pictures of rows %v, %v", items.N, kept, err)
	}
	if items, kept, err = set.Read([]int{1}); err != nil || items.N != 0 || len(kept) != 0 {
		t.Errorf("%d pictures of a damaged row, %v", items.N, err)
	}
	if _, _, err := set.Read([]int{3}); err == nil {
		t.Error("read a row that is not there")
	}
	drawn, err := set.Draw([]int{0, 1, 2}, 5, 6)
	crops := make([]uint8, 3*set.Input())
	if _, problem := set.Crops([]int{0, 1, 2}, 5, 6, crops); err != nil || problem != nil || drawn.N != 3 ||
		!bytes.Equal(drawn.Pixels, crops) {
		t.Errorf("drew %d pictures, %v", drawn.N, err)
	}
}
