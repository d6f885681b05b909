package seqrec

import (
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/gritvq/gritvq/index"
	"github.com/gritvq/gritvq/internal/program"
	"github.com/gritvq/gritvq/nn"
)

// decoding is the state of a search between two positions.
type decoding struct {
	searcher *BeamSearch
	done     int               // positions predicted
	logp     []float32         // [rows, codes] of the last one
	lengths  *tensors.Tensor   // [U] tokens of the users
	memory   []*tensors.Tensor // keys and values of each layer [U, H, S, d]: the histories
	past     []*tensors.Tensor // likewise [rows, H, done, d]: the prefixes
}

// compile prepares the programs: one reads histories and predicts the first
// codes, one for every further position predicts those.
func (s *BeamSearch) compile(backend compute.Backend) (err error) {
	m := s.model
	if s.encode, err = model.NewExec(backend, s.bank.Store(), func(_ *model.Scope, in []*graph.Node) []*graph.Node {
		v := s.bank.Vars(in[0].Graph())
		users, lengths := in[0].Shape().Dim(0), in[1]
		memory := m.decoder.Remember(v.In("decoder"), m.encoder.Build(v.In("encoder"), m.embed(v, in[0]), lengths, nil))
		start := m.embed(v, m.start(in[0].Graph(), users))
		h, past := m.decoder.Step(v.In("decoder"), start, nil, memory, lengths)
		out := append(append([]*graph.Node{m.predict(v, h, 0)}, nn.Flatten(memory)...), nn.Flatten(past)...)
		return program.Planned("reading histories", in, out, nil)
	}); err != nil {
		return err
	}
	for position := 1; position < len(m.vocab.Codes); position++ {
		step, err := model.NewExec(backend, s.bank.Store(), func(_ *model.Scope, in []*graph.Node) []*graph.Node {
			v := s.bank.Vars(in[0].Graph())
			tokens, parents, lengths := in[0], in[1], in[2]
			memory := nn.Pair(in[3 : 3+2*m.Config.Layers])
			past := nn.Pair(in[3+2*m.Config.Layers:])
			for i := range past {
				past[i].Keys = graph.Gather(past[i].Keys, graph.ExpandAxes(parents, -1))
				past[i].Values = graph.Gather(past[i].Values, graph.ExpandAxes(parents, -1))
			}
			h, next := m.decoder.Step(v.In("decoder"), m.embed(v, tokens), past, memory, lengths)
			out := []*graph.Node{m.predict(v, h, position)}
			if position < len(m.vocab.Codes)-1 {
				out = append(out, nn.Flatten(next)...)
			}
			return program.Planned("a beam", in, out, nil)
		})
		if err != nil {
			return err
		}
		s.steps = append(s.steps, step)
	}
	return nil
}

// begin encodes histories and predicts the first codes.
func (s *BeamSearch) begin(inputs []*tensors.Tensor) (*decoding, error) {
	d := &decoding{searcher: s, lengths: inputs[1]}
	out, err := s.encode.Call(inputs[0], inputs[1])
	inputs[0].FinalizeAll()
	if err != nil {
		d.finalize()
		return nil, err
	}
	layers := 2 * s.model.Config.Layers
	d.memory, d.past, d.done = out[1:1+layers], out[1+layers:], 1
	if d.logp, err = hostRows(out[0]); err != nil {
		d.finalize()
		return nil, err
	}
	return d, nil
}

// step predicts the next codes of beams. Their prefixes are one code longer than
// in the step before.
func (d *decoding) step(beams *index.Beams) error {
	m := d.searcher.model
	rows := beams.Users * beams.Width
	width := d.past[0].Shape().Dim(0) / beams.Users // of the beams before
	tokens, parents := make([]int32, rows), make([]int32, rows)
	for i := range rows {
		tokens[i] = m.vocab.Token(d.done-1, beams.Codes[i])
		parents[i] = int32(i/beams.Width*width) + int32(beams.Parents[i])
	}
	own := []*tensors.Tensor{tensors.FromFlatDataAndDimensions(tokens, rows), tensors.FromFlatDataAndDimensions(parents, rows)}
	var args []any
	for _, x := range slices.Concat(own, []*tensors.Tensor{d.lengths}, d.memory, d.past) {
		args = append(args, x)
	}
	out, err := d.searcher.steps[d.done-1].Call(args...)
	release(own)
	release(d.past)
	d.past = nil
	if err != nil {
		return err
	}
	d.past = out[1:]
	d.done++
	d.logp, err = hostRows(out[0])
	return err
}

// finalize releases the engine's memory.
func (d *decoding) finalize() {
	d.lengths.FinalizeAll()
	release(d.memory)
	release(d.past)
}

// hostRows copies log-probabilities to the host.
func hostRows(x *tensors.Tensor) ([]float32, error) {
	defer x.FinalizeAll()
	return tensors.CopyFlatData[float32](x)
}

func release(all []*tensors.Tensor) {
	for _, x := range all {
		x.FinalizeAll()
	}
}
