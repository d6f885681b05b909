package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gritvq/gritvq/bundle"
	"github.com/gritvq/gritvq/data"
	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/interactions"
	"github.com/gritvq/gritvq/internal/atomicfile"
	"github.com/gritvq/gritvq/semid"
	"github.com/gritvq/gritvq/tokenizer"
)

// The parts of a directory of IDs beside the table itself.
const (
	idsTokenizer = "tokenizer"   // a bundle
	idsItems     = "items.jsonl" // names and titles, in the order of the table
	idsVectors   = "titles.npy"  // embedded titles, where no embeddings were given
	shopVectors  = "shop.npy"    // embeddings of the built-in shop
)

// textDim is the dimension of embedded titles.
const textDim = 256

func runIDs(ctx context.Context, s *streams, o idsOptions) (err error) {
	if err := useWorkers(o.workers); err != nil {
		return err
	}
	if m := semid.Method(o.resolve); m != semid.Token && m != semid.Reassign {
		return usagef("--resolve %s: use token or reassign", o.resolve)
	}
	if _, err := os.Stat(filepath.Join(o.output, semid.ManifestFile)); err == nil && !o.force {
		return fmt.Errorf("%s holds a finished table; choose another directory, --force to replace it, or gritvq ids add for new items", o.output)
	}
	_, missing := os.Stat(o.output)
	if err := makeDirectory(o.output); err != nil {
		return err
	}
	defer func() {
		if err != nil && missing != nil {
			os.Remove(o.output) // only if empty
		}
	}()
	items, vectors, err := readCatalogue(ctx, s, o.input, o.items, o.output)
	if err != nil {
		return err
	}
	b, err := o.idsBundle(ctx, s, vectors)
	if err != nil {
		return err
	}
	codes, r, err := encodeItems(ctx, b, o.backend, vectors)
	if err != nil {
		return err
	}
	options := semid.Options{Resolve: semid.Method(o.resolve), TokenVocab: o.spare, Tokenizer: fmt.Sprintf("%x", b.Manifest.Fingerprint())}
	if options.Resolve == semid.Reassign {
		if options.Ranked, err = nearestLast(ctx, r, vectors); err != nil {
			return err
		}
	}
	table, err := semid.Build(codes, b.Manifest.Layout.Vocab, keysOf(items), options)
	if err != nil {
		return err
	}
	if err := writeItems(o.output, items); err != nil {
		return err
	}
	if err := table.Save(o.output, ""); err != nil {
		return err
	}
	return showIDs(s, o.json, o.output, table, table.Len())
}

// idsBundle returns the tokenizer of the IDs, which it puts into their
// directory: a given one, or one trained on the embeddings.
func (o idsOptions) idsBundle(ctx context.Context, s *streams, vectors string) (*bundle.Bundle, error) {
	dir := filepath.Join(o.output, idsTokenizer)
	if o.tokenizer != "" {
		b, err := bundle.Load(o.tokenizer)
		if err != nil {
			return nil, err
		}
		if err := makeDirectory(dir); err != nil {
			return nil, err
		}
		if err := bundle.Clear(dir); err != nil {
			return nil, err
		}
		return b, bundle.Write(dir, b)
	}
	state, err := bundle.StateOf(dir)
	if err != nil {
		return nil, err
	}
	if state != bundle.Finished || o.force || !o.resume {
		train := trainOptions{settings: o.settings, input: vectors, output: dir, backend: o.backend, workers: o.workers, resume: o.resume, force: !o.resume}
		quiet := *s
		quiet.out = io.Discard
		if err := runTrain(ctx, &quiet, train); err != nil {
			return nil, err
		}
	}
	return bundle.Load(dir)
}

// readCatalogue returns the items and a file of their embeddings. Titles without
// embeddings are embedded by the words they share, into dir.
func readCatalogue(ctx context.Context, s *streams, input, names, dir string) ([]interactions.Item, string, error) {
	if isItems(input) {
		if names != "" {
			return nil, "", usagef("%s names the items itself; leave --items out", input)
		}
		c, err := interactions.ReadItems(ctx, input)
		if err != nil {
			return nil, "", err
		}
		s.remark("embedding %s by the words of their titles; a sentence encoder's embeddings give better IDs", counted(c.Len(), "item"))
		encoder, err := semid.FitText(c.Texts(), textDim)
		if err != nil {
			return nil, "", err
		}
		path := filepath.Join(dir, idsVectors)
		return c.Items, path, writeNPY(path, encoder.Encode(c.Texts()), encoder.Dim())
	}
	if strings.HasPrefix(input, "synthetic:shop") {
		shop, err := interactions.OpenShop(input)
		if err != nil {
			return nil, "", err
		}
		path := filepath.Join(dir, shopVectors)
		return shop.Catalogue.Items, path, writeNPY(path, shop.Vectors, shop.Dim)
	}
	v, err := data.Open(ctx, input, data.Options{})
	if err != nil {
		return nil, "", err
	}
	defer v.Close()
	if names == "" {
		items := make([]interactions.Item, v.Len())
		for i := range items {
			items[i].ID = strconv.Itoa(i + 1)
		}
		return items, input, nil
	}
	c, err := interactions.ReadItems(ctx, names)
	if err != nil {
		return nil, "", err
	}
	if c.Len() != v.Len() {
		return nil, "", fmt.Errorf("%s has %s, %s has %s; give one row an item", names, counted(c.Len(), "item"), input, counted(v.Len(), "row"))
	}
	return c.Items, input, nil
}

// isItems says whether a file lists items instead of embeddings.
func isItems(path string) bool {
	return slices.Contains([]string{".jsonl", ".csv", ".tsv", ".dat"}, strings.ToLower(filepath.Ext(path)))
}

func writeNPY(path string, values []float32, dim int) error {
	w, err := data.CreateVectors(path, dim, len(values)/dim)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.WriteRows(values); err != nil {
		return err
	}
	return w.Commit()
}

func keysOf(items []interactions.Item) []string {
	keys := make([]string, len(items))
	for i, item := range items {
		keys[i] = item.ID
	}
	return keys
}

// encodeItems returns the codes of every embedding.
func encodeItems(ctx context.Context, b *bundle.Bundle, backend, vectors string) ([]uint32, *tokenizer.Runtime, error) {
	if b.Manifest.Kind != bundle.KindVectors {
		return nil, nil, fmt.Errorf("semantic IDs need a tokenizer of vectors, not of pictures")
	}
	engine, err := openEngine(backend)
	if err != nil {
		return nil, nil, err
	}
	r, err := b.Runtime(engine)
	if err != nil {
		return nil, nil, err
	}
	x, n, err := readVectors(ctx, vectors, b.Manifest.Input)
	if err != nil {
		return nil, nil, err
	}
	codes, err := r.Encode(ctx, x, n, tokenizer.Options{})
	return codes, r, err
}

func readVectors(ctx context.Context, path string, dim int) ([]float32, int, error) {
	v, err := data.Open(ctx, path, data.Options{})
	if err != nil {
		return nil, 0, err
	}
	defer v.Close()
	if err := checkDimension(v, dim); err != nil {
		return nil, 0, err
	}
	x := make([]float32, v.Len()*v.Dim())
	if err := v.Rows(0, v.Len(), x); err != nil {
		return nil, 0, err
	}
	return x, v.Len(), checkFinite(path, x, dim, 0)
}

// nearestLast ranks the last level's codes by their distance from what the
// levels before left of an item.
func nearestLast(ctx context.Context, r *tokenizer.Runtime, vectors string) (semid.Ranked, error) {
	layout := r.Tokenizer().Quantizer.Layout()
	if layout.Parts > 1 || layout.Levels < 2 {
		return nil, fmt.Errorf("--resolve reassign needs a tokenizer of several residual levels; use --resolve token")
	}
	x, n, err := readVectors(ctx, vectors, r.Tokenizer().Input)
	if err != nil {
		return nil, err
	}
	z, err := r.Latents(ctx, x, n)
	if err != nil {
		return nil, err
	}
	last := r.Codebooks()[layout.Levels-1]
	return func(item int, prefix []uint32) []uint32 {
		rest := slices.Clone(z[item*layout.Dim : (item+1)*layout.Dim])
		for l, code := range prefix {
			for j, x := range r.Codebooks()[l].Row(int(code)) {
				rest[j] -= x
			}
		}
		order, gap := make([]uint32, last.Shape[0]), make([]float64, last.Shape[0])
		for i := range order {
			order[i], gap[i] = uint32(i), index.SquaredDistance(rest, last.Row(i))
		}
		slices.SortStableFunc(order, func(a, b uint32) int {
			switch {
			case gap[a] < gap[b]:
				return -1
			case gap[a] > gap[b]:
				return 1
			}
			return 0
		})
		return order
	}, nil
}

// itemLine is a line of items.jsonl.
type itemLine struct {
	ID         string   `json:"id"`
	Title      string   `json:"title,omitempty"`
	Text       string   `json:"text,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// writeItems keeps names and titles beside the table.
func writeItems(dir string, items []interactions.Item) error {
	return atomicfile.Write(filepath.Join(dir, idsItems), func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		for _, item := range items {
			if err := encoder.Encode(itemLine{item.ID, item.Title, item.Text, item.Categories}); err != nil {
				return err
			}
		}
		return nil
	})
}

func runIDsAdd(ctx context.Context, s *streams, o idsAddOptions) error {
	table, err := semid.Load(o.dir)
	if err != nil {
		return err
	}
	b, err := bundle.Load(filepath.Join(o.dir, idsTokenizer))
	if err != nil {
		return err
	}
	if table.Tokenizer() != fmt.Sprintf("%x", b.Manifest.Fingerprint()) {
		return fmt.Errorf("the tokenizer in %s is not the one that made the table; restore it, or make the IDs anew", filepath.Join(o.dir, idsTokenizer))
	}
	old, err := interactions.ReadItems(ctx, filepath.Join(o.dir, idsItems))
	if err != nil {
		return err
	}
	fresh, vectors, err := newItems(ctx, s, o, old)
	if err != nil {
		return err
	}
	if isItems(o.input) {
		defer os.Remove(vectors) // embedded titles serve this once
	}
	codes, r, err := encodeItems(ctx, b, o.backend, vectors)
	if err != nil {
		return err
	}
	var ranked semid.Ranked
	if table.Method() == semid.Reassign {
		if ranked, err = nearestLast(ctx, r, vectors); err != nil {
			return err
		}
	}
	if err := table.Add(codes, keysOf(fresh), ranked); err != nil {
		return err
	}
	// The items first: names without IDs do no harm, IDs without names would.
	if err := writeItems(o.dir, slices.Concat(old.Items[:table.Len()-len(fresh)], fresh)); err != nil {
		return err
	}
	if err := table.Save(o.dir, ""); err != nil {
		return err
	}
	return showIDs(s, o.json, o.dir, table, len(fresh))
}

// newItems reads the items to add and their embeddings; titles are embedded in
// the space of the catalogue's.
func newItems(ctx context.Context, s *streams, o idsAddOptions, old *interactions.Catalogue) ([]interactions.Item, string, error) {
	embedded := filepath.Join(o.dir, idsVectors)
	_, err := os.Stat(embedded)
	switch ours := err == nil; {
	case isItems(o.input) && !ours:
		return nil, "", fmt.Errorf("%s was made from embeddings; give those of the new items, and their names with --items", o.dir)
	case !isItems(o.input) && ours:
		return nil, "", fmt.Errorf("%s was made from titles; give a file of the new items", o.dir)
	case !isItems(o.input):
		return readCatalogue(ctx, s, o.input, o.items, o.dir)
	}
	c, err := interactions.ReadItems(ctx, o.input)
	if err != nil {
		return nil, "", err
	}
	encoder, err := semid.FitText(old.Texts(), textDim)
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(o.dir, fmt.Sprintf("new-%d.npy", os.Getpid()))
	if err := writeNPY(path, encoder.Encode(c.Texts()), encoder.Dim()); err != nil {
		return nil, "", err
	}
	return c.Items, path, nil
}
