package catalogue

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/gritvq/gritvq/dataset/vectors"
	"github.com/gritvq/gritvq/report"
	"github.com/gritvq/gritvq/task"
)

// textDim is the dimension of embedded titles.
const textDim = 256

// embedTitles embeds the titles of sources without embeddings, all in one space.
// The encoder is stored with each, to embed items that are added later.
func embedTitles(list []*source, watch task.Watcher) error {
	var texts []string
	for _, s := range list {
		if s.vectors == "" {
			texts = append(texts, s.texts()...)
		}
	}
	if texts == nil {
		return nil
	}
	watch.Remark("embedding %s by the words of their titles; a sentence encoder's embeddings give better IDs",
		report.Counted(len(texts), "item"))
	encoder, err := FitText(texts, textDim)
	if err != nil {
		return err
	}
	for _, s := range list {
		if s.vectors != "" {
			continue
		}
		if err := encoder.Save(filepath.Join(s.dir, textEncoderFile)); err != nil {
			return err
		}
		if err := s.embed(encoder); err != nil {
			return err
		}
	}
	return nil
}

// embed writes the embeddings of the titles to the source's directory.
func (s *source) embed(encoder *TextEncoder) error {
	s.vectors = filepath.Join(s.dir, titleVectors)
	return writeVectors(s.vectors, encoder.Encode(s.texts()), encoder.Dim())
}

// joinVectors writes the embeddings of all sources, one after the other, to path.
func joinVectors(ctx context.Context, list []*source, path string) error {
	var parts []*vectors.Vectors
	total := 0
	for _, s := range list {
		v, err := vectors.Open(ctx, s.vectors, vectors.Options{})
		if err != nil {
			return err
		}
		defer v.Close()
		parts, total = append(parts, v), total+v.Len()
		if v.Dim() != parts[0].Dim() {
			return fmt.Errorf("%s has %d dimensions, %s has %d; a union needs embeddings of one kind",
				s.vectors, v.Dim(), list[0].vectors, parts[0].Dim())
		}
	}
	w, err := vectors.Create(path, parts[0].Dim(), total)
	if err != nil {
		return err
	}
	defer w.Abort()
	for _, v := range parts {
		values, err := allRows(v)
		if err == nil {
			err = w.WriteRows(values)
		}
		if err != nil {
			return err
		}
	}
	return w.Commit()
}

// writeVectors writes values [n, dim].
func writeVectors(path string, values []float32, dim int) error {
	w, err := vectors.Create(path, dim, len(values)/dim)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := w.WriteRows(values); err != nil {
		return err
	}
	return w.Commit()
}
