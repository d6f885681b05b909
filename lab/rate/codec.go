package rate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/gritvq/gritvq/artifact/bundle"
	"github.com/gritvq/gritvq/codes"
	"github.com/gritvq/gritvq/dataset/images"
	"github.com/gritvq/gritvq/engine"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/lab/table"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
	"github.com/gritvq/gritvq/task/picture"
	"github.com/gritvq/gritvq/task/prior"
)

// CodecName is the stem of the page of Codec.
const CodecName = "prior-codec"

// CodecOptions name pictures, a tokenizer and a prior of its codes.
type CodecOptions struct {
	Name      string // of the pictures, in the table
	Pictures  string
	Most      int // pictures, the first of the set; 0 is all
	Tokenizer string
	Prior     string
	Backend   string // of the tokenizer
	Commit    string
	Note      string // how tokenizer and prior were trained
	Output    string // directory of the page
}

// CodecRecord has the bits of the codes of pictures: a line of prior-codec.jsonl.
type CodecRecord struct {
	Name      string  `json:"name"`
	Pictures  int     `json:"pictures"`
	Codes     int     `json:"codes"`     // of all pictures
	Plain     float64 `json:"plain"`     // bits a code, all codes alike
	Neighbour float64 `json:"neighbour"` // bits a code in files of the tokenizer's own model, without headers
	Prior     float64 `json:"prior"`     // and of the prior
	// Bits a pixel of whole files.
	NeighbourPixel float64 `json:"neighbour_bits_per_pixel"`
	PriorPixel     float64 `json:"prior_bits_per_pixel"`
	Seconds        float64 `json:"seconds"` // to encode a picture with the prior
	TokenizerHash  string  `json:"tokenizer_sha256"`
	PriorHash      string  `json:"prior_sha256"`
	Machine        string  `json:"machine"`
	Hardware       string  `json:"hardware"`
	Commit         string  `json:"commit"`
	Date           string  `json:"date"`
	Note           string  `json:"note"`
}

// Check reports a record without bits.
func (r CodecRecord) Check() error {
	if r.Name == "" || r.Codes < 1 || r.Prior <= 0 {
		return errors.New("a record needs the name of its pictures, codes, and their bits with the prior")
	}
	return nil
}

// Codec measures the bits of the codes of pictures with a tokenizer's own model and with a prior, adds the record to those in the
// output directory and writes the page of all. Without pictures it writes the page alone.
func Codec(ctx context.Context, o CodecOptions, watch task.Watcher) error {
	page, err := table.OpenPage(o.Output, CodecName, "bench codec", "Bits of codes under a prior")
	if err != nil {
		return err
	}
	records, err := table.ReadLines[CodecRecord](page.Path(".jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if o.Pictures != "" {
		if err := os.MkdirAll(o.Output, 0o755); err != nil {
			return err
		}
		r, err := o.measure(ctx, watch)
		if err != nil {
			return err
		}
		records = append(slices.DeleteFunc(records, func(other CodecRecord) bool { return other.Name == r.Name }), r)
		if err := atomicfile.WriteJSON(page.Path(".jsonl"), "", records...); err != nil {
			return err
		}
	}
	return writeCodec(page, records)
}

func (o CodecOptions) measure(ctx context.Context, watch task.Watcher) (r CodecRecord, err error) {
	b, err := bundle.Load(o.Tokenizer)
	if err != nil {
		return r, err
	}
	backend, err := engine.Open(o.Backend)
	if err != nil {
		return r, err
	}
	runtime, err := b.Runtime(backend)
	if err != nil {
		return r, err
	}
	defer runtime.Close()
	codec, err := prior.OpenCodec(o.Prior, b.Manifest.Fingerprint(), o.Tokenizer, task.Silent{})
	if err != nil {
		return r, err
	}
	p, err := prior.Load(o.Prior)
	if err != nil {
		return r, err
	}
	set, err := images.Open(ctx, o.Pictures, images.Options{})
	if err != nil {
		return r, err
	}
	defer set.Close()
	model, _ := b.Manifest.File(bundle.ModelFile)
	own, _ := p.Manifest.File(prior.ModelFile)
	r = CodecRecord{Name: o.Name, Pictures: set.Len(), TokenizerHash: model.SHA256, PriorHash: own.SHA256, Machine: codec.Machine(),
		Hardware: table.Hardware(), Commit: o.Commit, Date: time.Now().UTC().Format(time.DateOnly), Note: o.Note}
	if o.Most > 0 {
		r.Pictures = min(r.Pictures, o.Most)
	}
	files := picture.Files{Tokenizer: b.Tokenizer, Fingerprint: b.Manifest.Fingerprint(), Entropy: b.Entropy}
	return r, r.add(ctx, set, picture.Encoder{Runtime: runtime}, files, codec, watch)
}

// add measures the first pictures of a set.
func (r *CodecRecord) add(ctx context.Context, set *images.Set, encoder picture.Encoder, own picture.Files, codec *prior.Codec,
	watch task.Watcher) error {
	line := watch.Line(r.Pictures, "pictures")
	defer line.Done()
	pixels, withPrior := 0.0, own
	withPrior.Predictor = codec
	for i := range r.Pictures {
		whole, err := set.Whole(i)
		if err != nil {
			return err
		}
		grid, err := encoder.Encode(ctx, whole)
		if err != nil {
			return err
		}
		neighbour, err := own.Encode(ctx, io.Discard, grid)
		if err != nil {
			return err
		}
		begun := time.Now()
		var file bytes.Buffer
		predicted, err := withPrior.Encode(ctx, &file, grid)
		if err != nil {
			return err
		}
		r.Seconds += time.Since(begun).Seconds() / float64(r.Pictures)
		if i == 0 { // all would take as long again
			back, err := codes.DecodePredicted(ctx, &file, own.Fingerprint, codec)
			if err == nil && !slices.Equal(back.Codes, grid.Codes) {
				err = errors.New("other codes came back")
			}
			if err != nil {
				return fmt.Errorf("decoding %s: %w", set.Key(i), err)
			}
		}
		r.Codes += len(grid.Codes)
		r.Neighbour, r.Prior = r.Neighbour+float64(neighbour.Payload), r.Prior+float64(predicted.Payload)
		r.NeighbourPixel += float64(neighbour.Header + neighbour.Payload)
		r.PriorPixel += float64(predicted.Header + predicted.Payload)
		pixels += float64(grid.Width * grid.Height)
		line.Update(int64(i+1), fmt.Sprintf("coded, %.3f of the own model's bits", r.Prior/r.Neighbour))
	}
	vocab := own.Tokenizer.Quantizer.Layout().Vocab
	for _, k := range vocab {
		r.Plain += math.Log2(float64(k)) / float64(len(vocab))
	}
	r.Neighbour, r.Prior = r.Neighbour/float64(r.Codes), r.Prior/float64(r.Codes)
	r.NeighbourPixel, r.PriorPixel = r.NeighbourPixel/pixels, r.PriorPixel/pixels
	return nil
}

func writeCodec(page *table.Page, records []CodecRecord) error {
	t := report.Table{Columns: append([]report.Column{{Name: "pictures"}}, report.Columns(report.Right, "number", "codes",
		"bits a code, all alike", "own model", "prior", "prior / own model", "bits a pixel, own model", "prior")...)}
	for _, r := range records {
		t.Rows = append(t.Rows, report.Cells(r.Name, report.Count(r.Pictures), report.Count(r.Codes), fmt.Sprintf("%.3f", r.Plain),
			fmt.Sprintf("%.3f", r.Neighbour), fmt.Sprintf("%.3f", r.Prior), fmt.Sprintf("%.3f", r.Prior/r.Neighbour),
			fmt.Sprintf("%.4f", r.NeighbourPixel), fmt.Sprintf("%.4f", r.PriorPixel)))
	}
	page.Text("%s", codecLegend)
	page.Table(t)
	for _, r := range records {
		page.Text("* %s: %s. %s (%s), commit %s, %s; SHA-256 of the tokenizer %.12s, of the prior %.12s.", r.Name, r.Note, r.Hardware,
			r.Machine, r.Commit, r.Date, r.TokenizerHash, r.PriorHash)
	}
	page.Text("\nThe first picture of each set was decoded to the same codes. Raw figures: [%s.jsonl](%s.jsonl).", CodecName, CodecName)
	return page.Write()
}

const codecLegend = `Bits a code are of the payload; bits a pixel are of whole files, headers and checksums included. ` +
	`*Own model* is the tokenizer's
neighbour model, which gritvq encode uses without --prior.
`
