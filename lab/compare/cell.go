package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"sync"

	"github.com/gritvq/gritvq/config"
	"github.com/gritvq/gritvq/dataset"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/tokenize"
	"github.com/gritvq/gritvq/tokenizer"
	"github.com/gritvq/gritvq/train/vqtrain"
	"github.com/gritvq/gritvq/vq"
)

// scoring is the version of records. Records of other versions are not used.
const scoring = "gritvq compare 1"

// Point is a size of code: Levels x Parts codes of Codes values each.
type Point struct {
	Codes  int `json:"codes"`
	Levels int `json:"levels"`
	Parts  int `json:"parts"`
}

// Bits is the number of bits of the codes of a vector, or of a cell of a picture.
func (p Point) Bits() float64 { return float64(p.Levels*p.Parts) * math.Log2(float64(p.Codes)) }

// String is "4 x 256", or "2 x 2 x 256" with parts.
func (p Point) String() string {
	text := strconv.Itoa(p.Codes)
	if p.Parts > 1 {
		text = fmt.Sprintf("%d x %s", p.Parts, text)
	}
	if p.Levels > 1 || p.Parts > 1 {
		text = fmt.Sprintf("%d x %s", p.Levels, text)
	}
	return text
}

// PointOfBits chooses a point for the given bits: levels of 256 codes if that divides the bits, otherwise of
// the largest smaller codebook down to 16 that does, otherwise of the smallest larger one up to 65,536.
func PointOfBits(bits int) (Point, error) {
	for _, each := range []int{8, 7, 6, 5, 4, 9, 10, 11, 12, 13, 14, 15, 16} {
		if bits > 0 && bits%each == 0 {
			return Point{Codes: 1 << each, Levels: bits / each, Parts: 1}, nil
		}
	}
	if bits >= 1 && bits < 4 {
		return Point{Codes: 1 << bits, Levels: 1, Parts: 1}, nil
	}
	return Point{}, fmt.Errorf("%d bits cannot be divided into codes of 4 to 16 bits; use another number such as %d",
		bits, max(8, bits/8*8))
}

// Cell is one method with one size of code and one seed.
type Cell struct {
	ID     string // of data, settings and seed
	Method string // its name in tables
	Point  Point
	Config vqtrain.Config // its seed included
	Err    error          // why the method cannot work with the settings; such a cell fails without being run
}

// newCell identifies a cell. invalid is an error found while the configuration was made; settings that do not
// make a tokenizer are found here.
func newCell(name string, s *subject, p Point, c vqtrain.Config, invalid error) (Cell, error) {
	settings, err := config.Hash(c)
	if err != nil {
		return Cell{}, fmt.Errorf("identifying the settings of %s: %w", name, err)
	}
	sum := sha256.Sum256([]byte(scoring + "\n" + s.fingerprint + "\n" + settings + "\n" + strconv.FormatUint(c.Seed, 10)))
	cell := Cell{ID: hex.EncodeToString(sum[:10]), Method: name, Point: p, Config: c, Err: invalid}
	switch {
	case cell.Err != nil:
	case cell.patches():
		_, cell.Err = tokenizer.New(c.Spec, s.source.Set.Input())
	default:
		_, cell.Err = c.Tokenizer(s.source.Set.Input())
	}
	return cell, nil
}

// String names the cell for people.
func (c Cell) String() string {
	return fmt.Sprintf("%s, %s, seed %d", c.Method, c.Point, c.Config.Seed)
}

func (c Cell) classical() bool { return vq.Classical(c.Config.Quantizer.Method) }

// patches says whether the cell is the classical reference of pictures, k-means of their patches.
func (c Cell) patches() bool { return c.classical() && c.Config.Model.Pictures() }

// subject is the data that cells, also of different goroutines, are trained and scored on.
type subject struct {
	kind        *Kind
	source      vqtrain.Source
	resplit     bool             // every seed holds out other items of one set
	fingerprint string           // of the data and of the networks behind the scores
	dropped     int              // vectors with NaN or Inf
	networks    picture.Networks // of the scores of pictures
	metrics     []string         // names of these networks

	timing sync.Mutex // one cell is timed at a time
	search sync.Mutex
	truth  map[string][][]int // true neighbours of vectors, by split
}

func newSubject(data *tokenize.Data, in tokenize.Input, watch task.Watcher) (*subject, error) {
	s := &subject{kind: OfVectors, source: data.Source, resplit: in.Held == "", fingerprint: data.Fingerprint, dropped: data.Dropped}
	if !dataset.KindOf(in.Path).IsPictures() {
		return s, nil
	}
	s.kind = OfPictures
	var err error
	if s.networks, err = picture.FindNetworks(picture.MetricsDir(in.Metrics)); err != nil {
		return nil, err
	}
	for _, sentence := range s.networks.Skipped() {
		watch.Remark("%s", sentence)
	}
	if network := s.networks.LPIPS; network != nil {
		s.metrics, s.fingerprint = append(s.metrics, network.Name()), s.fingerprint+" lpips "+network.Name()
	}
	if network := s.networks.Features; network != nil {
		s.metrics, s.fingerprint = append(s.metrics, network.Name()), s.fingerprint+" features "+network.Name()
	}
	return s, nil
}

func (s *subject) of(cell Cell) vqtrain.Source {
	source := s.source
	if s.resplit {
		source.Train, source.Held = dataset.Split(source.Set.Len(), 1-cell.Config.Train.Split, cell.Config.Seed)
	}
	return source
}

func (s *subject) describe(in tokenize.Input) Data {
	d := Data{Name: dataset.Name(in.Path), Kind: s.kind.Items, Fingerprint: s.fingerprint, Rows: s.source.Set.Len(),
		TrainRows: s.source.Train.Len(), HeldRows: s.source.Held.Len(), Dropped: s.dropped}
	if in.Held != "" {
		d.Held = dataset.Name(in.Held)
	}
	if set, ok := s.source.Set.(*images.Set); ok {
		d.Size = set.Size()
	} else {
		d.Dim = s.source.Set.Input()
	}
	return d
}
