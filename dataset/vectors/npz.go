package vectors

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/gritvq/gritvq/internal/memory"
	"github.com/gritvq/gritvq/internal/rowfile"
)

var npzFormat = format{Format: rowfile.NPZ, open: openNPZ, selects: true}

// A compressed member larger than freelyInflated is refused if it grows more than maxInflation times: a file of a few bytes
// must not fill a disk.
const (
	freelyInflated = 1 << 30
	maxInflation   = 100
)

// npzMember is one array of an .npz archive.
type npzMember struct {
	name   string // without ".npy"
	file   *zip.File
	header rowfile.NPYHeader
	err    error // why it cannot be vectors
}

// openNPZ returns one member of an .npz file: in place when it is stored, from
// a spool when it is compressed.
func openNPZ(ctx context.Context, f source, opt Options) (*Vectors, error) {
	path, file, size := f.path, f.File, f.size
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return nil, fmt.Errorf("%s is a damaged .npz archive (%w); copy or write it again", path, err)
	}
	members := npzMembers(path, archive)
	member, err := chooseMember(path, archive, members, opt.Member)
	if err != nil {
		return nil, err
	}
	name := path + ":" + member.name
	if member.file.Method == zip.Store {
		offset, err := member.file.DataOffset()
		length := member.file.UncompressedSize64
		if err != nil || offset < 0 || offset > size || length > uint64(size-offset) {
			return nil, fmt.Errorf("%s is a damaged .npz archive (member %s reaches beyond its end); copy or write it again", path, member.name)
		}
		return openNPY(ctx, name, io.NewSectionReader(file, offset, int64(length)), int64(length), file, opt)
	}
	// Check the length before inflating gigabytes of a wrong array.
	element, _ := floatElement(member.header.Descr)
	length := int64(min(member.file.UncompressedSize64, 1<<62))
	if err := member.header.CheckLength(name, element.Size, length); err != nil {
		return nil, err
	}
	if packed := member.file.CompressedSize64; uint64(length) > freelyInflated && uint64(length)/maxInflation > packed {
		return nil, fmt.Errorf("%s inflates from %s to %s, as no vectors do; if they are meant, write them with numpy.save",
			name, memory.Text(float64(packed)), memory.Text(float64(length)))
	}
	inflated, err := inflate(ctx, name, member, opt)
	if err != nil {
		return nil, err
	}
	vectors, err := openNPY(ctx, name, inflated, length, inflated, opt)
	if err != nil {
		inflated.Close()
		return nil, err
	}
	file.Close()
	return vectors, nil
}

// npzMembers reads the header of every array in the archive.
func npzMembers(path string, archive *zip.Reader) []npzMember {
	var members []npzMember
	for _, file := range archive.File {
		name, ok := strings.CutSuffix(file.Name, ".npy")
		if !ok {
			continue
		}
		member := npzMember{name: name, file: file}
		title := path + ":" + name
		content, err := file.Open()
		if err != nil {
			member.err = fmt.Errorf("cannot read %s: %w", title, err)
		} else {
			if member.header, member.err = rowfile.ReadNPYHeader(title, content); member.err == nil {
				member.err = checkVectors(title, member.header)
			}
			content.Close()
		}
		members = append(members, member)
	}
	return members
}

// chooseMember finds the wanted member, or the only one that can be vectors.
func chooseMember(path string, archive *zip.Reader, members []npzMember, wanted string) (*npzMember, error) {
	if len(members) == 0 {
		return nil, withoutArrays(path, archive)
	}
	var all, usable []string
	var only *npzMember
	for i := range members {
		m := &members[i]
		if wanted != "" && (m.name == wanted || m.file.Name == wanted) {
			return m, m.err
		}
		summary := fmt.Sprintf("%s %s %s", m.name, m.header.TypeText(), m.header.ShapeText())
		all = append(all, summary)
		if m.err == nil {
			usable = append(usable, summary)
			only = m
		}
	}
	switch {
	case wanted != "":
		return nil, fmt.Errorf("%s has no member %q; it holds %s", path, wanted, strings.Join(all, ", "))
	case len(usable) == 0 && len(members) == 1:
		return nil, members[0].err
	case len(usable) == 0:
		return nil, fmt.Errorf("%s has no 2-d array of float16, float32 or float64; it holds %s", path, strings.Join(all, ", "))
	case len(usable) > 1:
		return nil, fmt.Errorf("%s has several arrays of vectors (%s); choose one, as in %s:%s",
			path, strings.Join(usable, ", "), path, only.name)
	}
	return only, nil
}

// withoutArrays explains an archive without .npy members, such as what
// torch.save writes: a pickle that refers to the numbers beside it.
func withoutArrays(path string, archive *zip.Reader) error {
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, "/data.pkl") {
			return fmt.Errorf("%s was written by torch.save, whose pickles are never read; save the tensor t with "+
				"numpy.save(\"vectors.npy\", t.numpy()) or safetensors.torch.save_file({\"vectors\": t}, \"vectors.safetensors\")", path)
		}
	}
	return fmt.Errorf("%s is a zip archive without NumPy arrays; write it with numpy.savez", path)
}

// inflate copies a compressed member into a spool, checking its checksum.
func inflate(ctx context.Context, name string, member *npzMember, opt Options) (*rowfile.Spool, error) {
	content, err := member.file.Open()
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	defer content.Close()
	out, err := rowfile.NewSpool(opt.SpoolDir, name)
	if err != nil {
		return nil, err
	}
	if err := out.Reserve(member.file.UncompressedSize64); err != nil {
		out.Close()
		return nil, err
	}
	if err := copyStream(ctx, out, content, name, member, opt.Progress); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

func copyStream(ctx context.Context, out *rowfile.Spool, content io.Reader, name string, member *npzMember,
	progress func(done, total int)) error {
	buffer := make([]byte, 1<<20)
	rows, stride := member.header.Shape[0], float64(member.file.UncompressedSize64)/float64(member.header.Shape[0])
	for written := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := content.Read(buffer)
		if _, err := out.Write(buffer[:n]); err != nil {
			return err
		}
		written += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s is damaged (%w); copy or write the archive again", name, err)
		}
		if progress != nil {
			progress(min(rows, int(float64(written)/stride)), rows)
		}
	}
	return out.Finish()
}
