package images

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/gritvq/gritvq/internal/memory"
)

// Set is a numbered collection of pictures. Its methods may be called from
// several goroutines at once.
type Set struct {
	path    string
	origin  origin
	options Options

	// cache holds prepared pictures of the first rows until its allowance is
	// used up. Nothing is evicted: every epoch visits every picture once, so
	// replacing entries would gain nothing.
	cache []atomic.Pointer[RGB]
	spent atomic.Int64

	damageLock sync.Mutex
	damage     map[int]*Damage // by row
	warnLock   sync.Mutex

	fingerprint func() (string, error)
}

// Damage is a picture that cannot be used, and why.
type Damage struct {
	Key string
	Err error

	row int
}

// Error implements error.
func (d *Damage) Error() string { return fmt.Sprintf("picture %s is damaged: %v", d.Key, d.Err) }

// Unwrap returns the reason.
func (d *Damage) Unwrap() error { return d.Err }

func newSet(path string, pictures origin, options Options) *Set {
	s := &Set{path: path, origin: pictures, options: options, damage: map[int]*Damage{}}
	if options.Cache > 0 && options.Size > 0 {
		fit := options.Cache / int64(options.Size*options.Size*3)
		s.cache = make([]atomic.Pointer[RGB], min(fit, int64(pictures.count())))
	}
	s.fingerprint = sync.OnceValues(pictures.fingerprint)
	return s
}

// Len is the number of pictures, damaged ones included.
func (s *Set) Len() int { return s.origin.count() }

// Size is the side of the squares.
func (s *Set) Size() int { return s.options.Size }

// Path is the name the set was opened by.
func (s *Set) Path() string { return s.path }

// Key names picture i: its path inside the set without extension. Keys are
// unique: where two pictures differ in the extension alone, the second keeps
// it, and of members with the very same name the later ones get a number.
func (s *Set) Key(i int) string { return s.origin.key(i) }

// Close gives back the file behind the set.
func (s *Set) Close() error { return s.origin.Close() }

// Fingerprint identifies the content, not its container: a folder, a tar and a
// zip with the same files in the same order have the same one. It is "sha256:..."
// of the names, sizes and bytes of all files. Above 64 MiB only 256 files,
// evenly spaced and including the first and the last, are read, and of each
// the first MiB; the prefix is then "sha256-sampled:". Of a built-in set it is
// the hash of its name and parameters. The result is remembered.
func (s *Set) Fingerprint() (string, error) { return s.fingerprint() }

// Whole returns picture i unscaled and uncropped, but upright. The error of a
// damaged picture is a *Damage.
func (s *Set) Whole(i int) (*RGB, error) {
	if err := s.check(i); err != nil {
		return nil, err
	}
	if damage := s.knownDamage(i); damage != nil {
		return nil, damage
	}
	return s.decoded(i)
}

func (s *Set) check(row int) error {
	if row < 0 || row >= s.Len() {
		return fmt.Errorf("%s has the pictures 0 to %d, but picture %d was asked for", s.path, s.Len()-1, row)
	}
	return nil
}

// prepared returns a picture from which squares can be cut.
func (s *Set) prepared(row int) (*RGB, error) {
	if row < len(s.cache) {
		if p := s.cache[row].Load(); p != nil {
			return p, nil
		}
	}
	if damage := s.knownDamage(row); damage != nil {
		return nil, damage
	}
	p, err := s.decoded(row)
	if err != nil {
		return nil, err
	}
	p = prepare(p, s.options.Size, s.options.Short)
	s.keep(row, p)
	return p, nil
}

// keep puts a picture into the cache if it still fits.
func (s *Set) keep(row int, p *RGB) {
	if row >= len(s.cache) {
		return
	}
	cost := int64(len(p.Pix))
	if s.spent.Add(cost) > s.options.Cache || !s.cache[row].CompareAndSwap(nil, p) {
		s.spent.Add(-cost)
	}
}

// decoded reads picture row, and remembers its damage.
func (s *Set) decoded(row int) (*RGB, error) {
	p, err := s.origin.picture(row)
	if err == nil {
		return p, nil
	}
	_, disk := errors.AsType[*fs.PathError](err)
	_, large := errors.AsType[*memory.Exceeded](err) // whether it is depends on the machine, so it is not left out as damaged
	if disk || large {
		return nil, fmt.Errorf("reading picture %s of %s: %w", s.Key(row), s.path, err)
	}
	return nil, s.report(row, err)
}

func (s *Set) knownDamage(row int) *Damage {
	s.damageLock.Lock()
	defer s.damageLock.Unlock()
	return s.damage[row]
}

// report remembers damage and warns of it, once.
func (s *Set) report(row int, reason error) *Damage {
	damage := &Damage{Key: s.Key(row), Err: reason, row: row}
	s.damageLock.Lock()
	known := s.damage[row]
	if known == nil {
		s.damage[row] = damage
	}
	s.damageLock.Unlock()
	if known != nil { // another goroutine was first
		return known
	}
	if s.options.Warn != nil {
		s.warnLock.Lock()
		defer s.warnLock.Unlock()
		s.options.Warn(*damage)
	}
	return damage
}
