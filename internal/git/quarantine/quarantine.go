// Package quarantine keeps objects apart that are written, until they are needed:
// in a pack that this process writes, and in an object directory of its own for
// what git processes write. From there they enter the repository as a pack with a
// ".keep", which no gc and no repack takes or rewrites.
package quarantine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git/pack"
)

const (
	// keepText begins the ".keep" of a pack of ours.
	keepText = "turnback: until its refs are checked\n"
	// takenWhole is from how many bytes on a pack of git's enters as it is.
	takenWhole = 1 << 20
)

// Pen keeps the objects apart that are written to one repository. It is for use
// by several goroutines.
type Pen struct {
	Root    string // the folder of all quarantines; made when absent
	Objects string // the repository's object directory
	IDLen   int    // bytes of an object id: 20 or 32

	apart string // see Rehearse; empty: objects enter the repository
	sweep sync.Once

	mu      sync.Mutex
	dir     string       // the quarantine; empty: none is open
	lock    *files.Lock  // tells others that it is in use
	pack    *pack.Writer // objects that this process made; nil: none yet
	foreign bool         // git processes may have put objects into dir
	relied  []string     // paths of the ".keep" files that this run stands on
}

// open makes the quarantine. mu is held.
func (p *Pen) open() error {
	if p.dir != "" {
		return nil
	}
	if err := os.MkdirAll(p.Root, 0o700); err != nil {
		return fmt.Errorf("make a quarantine: %w", err)
	}
	p.sweep.Do(func() { Sweep(p.Root) })
	var err error
	if p.dir, p.lock, err = begin(p.Root); err != nil {
		return fmt.Errorf("make a quarantine: %w", err)
	}
	return nil
}

// begin makes a folder in root, with a lock that tells others that it is in use.
func begin(root string) (dir string, lock *files.Lock, err error) {
	for {
		f, err := os.CreateTemp(root, "run-*.lock")
		if err != nil {
			return "", nil, err
		}
		_ = f.Close()
		lock, err := files.TryLock(f.Name())
		if err != nil {
			return "", nil, err
		}
		if lock == nil { // somebody takes it for a leftover
			continue
		}
		dir := strings.TrimSuffix(f.Name(), ".lock")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return "", nil, errors.Join(err, os.Remove(f.Name()), lock.Unlock())
		}
		return dir, lock, nil
	}
}

// Rehearse has everything enter a folder apart from now on, an object directory,
// and never the repository. The folder goes with end, after Discard.
func (p *Pen) Rehearse() (dir string, end func() error, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(p.Root, 0o700); err != nil {
		return "", nil, fmt.Errorf("make a quarantine: %w", err)
	}
	dir, lock, err := begin(p.Root)
	if err != nil {
		return "", nil, fmt.Errorf("make a quarantine: %w", err)
	}
	p.apart = dir
	end = func() error { return errors.Join(os.RemoveAll(dir), os.Remove(dir+".lock"), lock.Unlock()) }
	if err := os.Mkdir(filepath.Join(dir, "pack"), 0o700); err != nil {
		return "", nil, errors.Join(fmt.Errorf("make a quarantine: %w", err), end())
	}
	return dir, end, nil
}

// Stores are the object directories in which git finds what was let in.
func (p *Pen) Stores() []string {
	if p.apart == "" {
		return []string{p.Objects}
	}
	return []string{p.Objects, p.apart}
}

// close removes the quarantine. mu is held.
func (p *Pen) close() error {
	if p.dir == "" {
		return nil
	}
	var err error
	if p.pack != nil {
		err = p.pack.Abort()
	}
	err = errors.Join(err, os.RemoveAll(p.dir), os.Remove(p.dir+".lock"), p.lock.Unlock())
	p.dir, p.lock, p.pack, p.foreign = "", nil, nil, false
	if err != nil {
		return fmt.Errorf("remove a quarantine: %w", err)
	}
	return nil
}

// Sweep removes what killed processes left in root.
func Sweep(root string) {
	list, _ := os.ReadDir(root)
	for _, d := range list {
		name, isLock := strings.CutSuffix(d.Name(), ".lock")
		if !strings.HasPrefix(name, "run-") || !isLock && !d.IsDir() {
			continue
		}
		path := filepath.Join(root, name)
		lock, err := files.TryLock(path + ".lock")
		if err != nil || lock == nil {
			continue
		}
		if os.RemoveAll(path) == nil {
			_ = os.Remove(path + ".lock")
		}
		_ = lock.Unlock()
	}
}

// Add stores an object that this process made.
func (p *Pen) Add(kind pack.Kind, data []byte) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.begin(); err != nil {
		return "", err
	}
	return p.pack.Add(kind, data)
}

// begin makes sure that there is a pack to write to. mu is held.
func (p *Pen) begin() error {
	if p.pack != nil {
		return nil
	}
	if err := p.open(); err != nil {
		return err
	}
	w, err := pack.Create(filepath.Join(p.dir, "made"), p.IDLen)
	if err != nil {
		return fmt.Errorf("begin a pack: %w", err)
	}
	p.pack = w
	return nil
}

// Within runs f, which has a git process write objects into dir.
func (p *Pen) Within(f func(dir string) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.open(); err != nil {
		return err
	}
	p.foreign = true
	return f(p.dir)
}

// Flush lets everything that was written so far into the repository, as a pack
// that is kept.
func (p *Pen) Flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flush()
}

// Discard ends a run: it throws away what was written and not let in.
func (p *Pen) Discard() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relied = nil
	return p.close()
}

// Let flushes, and gives the path, without an ending, of the pack that was let
// in last; empty: there was none.
func (p *Pen) Let() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.relied = nil
	if err := p.flush(); err != nil || len(p.relied) == 0 {
		return "", err
	}
	return strings.TrimSuffix(p.relied[len(p.relied)-1], ".keep"), nil
}

// Settle lets what was written in, for a git process that could ask for it. When
// somebody writes right now, that is not the caller, who then waits for nothing.
func (p *Pen) Settle() error {
	if !p.mu.TryLock() {
		return nil
	}
	defer p.mu.Unlock()
	return p.flush()
}

// flush gathers the quarantine into packs and lets them in. mu is held.
func (p *Pen) flush() error {
	if p.pack == nil && !p.foreign {
		return nil
	}
	whole, err := p.gather()
	if err != nil {
		return fmt.Errorf("gather new objects: %w", err)
	}
	if p.pack != nil {
		made := p.pack
		p.pack = nil
		name, err := made.Finish()
		if err != nil {
			return fmt.Errorf("write a pack: %w", err)
		}
		if made.Len() > 0 {
			if err := p.install(filepath.Join(p.dir, "made"), name); err != nil {
				return err
			}
		}
	}
	for _, base := range whole {
		if err := p.install(base, strings.TrimPrefix(filepath.Base(base), "pack-")); err != nil {
			return err
		}
	}
	now := time.Now()
	for _, keep := range p.relied {
		if err := os.Chtimes(keep, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) { // joined with others, which are kept
			return fmt.Errorf("keep a pack: %w", err)
		}
	}
	return p.close()
}

// gather puts what git processes left in the quarantine into the pack, and names
// the packs among it that enter as they are. mu is held.
func (p *Pen) gather() (whole []string, err error) {
	if !p.foreign {
		return nil, nil
	}
	list, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		switch {
		case !d.IsDir():
		case d.Name() == "pack":
			if whole, err = p.gatherPacks(filepath.Join(p.dir, "pack")); err != nil {
				return nil, err
			}
		case len(d.Name()) == 2:
			if err := p.gatherLoose(d.Name()); err != nil {
				return nil, err
			}
		}
	}
	return whole, nil
}

func (p *Pen) gatherLoose(prefix string) error {
	list, err := os.ReadDir(filepath.Join(p.dir, prefix))
	if err != nil {
		return err
	}
	for _, d := range list {
		id := prefix + d.Name()
		if len(id) != 2*p.IDLen || strings.Trim(id, "0123456789abcdef") != "" {
			continue // begun by a process that was killed
		}
		if err := p.begin(); err != nil {
			return err
		}
		if err := p.pack.TakeLoose(filepath.Join(p.dir, prefix, d.Name()), id); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pen) gatherPacks(dir string) (whole []string, err error) {
	list, err := filepath.Glob(GlobLiteral(dir) + "/pack-*.idx")
	if err != nil {
		return nil, err
	}
	for _, idx := range list {
		base := strings.TrimSuffix(idx, ".idx")
		st, err := os.Stat(base + ".pack")
		if err != nil {
			return nil, err
		}
		if st.Size() >= takenWhole {
			whole = append(whole, base)
			continue
		}
		if err := p.begin(); err != nil {
			return nil, err
		}
		err = p.pack.Take(base)
		if errors.Is(err, pack.ErrDelta) {
			whole, err = append(whole, base), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// GlobLiteral quotes path for filepath.Glob.
func GlobLiteral(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// install lets the pack at base in under git's name for it. The ".keep" comes
// first and the index last: without the index the pack is not there. mu is held.
func (p *Pen) install(base, name string) error {
	dir := filepath.Join(cmp.Or(p.apart, p.Objects), "pack")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("let a pack in: %w", err)
	}
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("let a pack in: %w", err)
	}
	mode := st.Mode().Perm()&0o444 | 0o400
	to := filepath.Join(dir, "pack-"+name)
	made, err := putKeep(to+".keep", mode)
	if err != nil {
		return fmt.Errorf("let a pack in: %w", err)
	}
	for _, end := range []string{".pack", ".rev", ".idx"} {
		if err = move(base+end, to+end, mode); err != nil && (end != ".rev" || !errors.Is(err, fs.ErrNotExist)) {
			if made {
				err = errors.Join(err, os.Remove(to+".keep"))
			}
			return fmt.Errorf("let a pack in: %w", err)
		}
	}
	p.relied = append(p.relied, to+".keep")
	return nil
}

// putKeep makes the file that keeps a pack; one that is there already, somebody
// else's too, does as well.
func putKeep(path string, mode fs.FileMode) (made bool, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o200)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(keepText)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, errors.Join(err, os.Remove(path))
	}
	return true, nil
}

// move gives a file its mode and its place, also on another disk.
func move(from, to string, mode fs.FileMode) error {
	if err := os.Chmod(from, mode); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if !isCrossDevice(err) {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	// git removes names that begin with "tmp_", also while they are written.
	out, err := os.CreateTemp(filepath.Dir(to), "turnback-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(mode), out.Close()); err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}

// Take stores the object id, whose content is given.
func (p *Pen) Take(id, kind string, size int64, content io.Reader) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.begin(); err != nil {
		return err
	}
	return p.pack.AddFrom(id, pack.KindOf(kind), size, content)
}

// Strangers names those of ids that are neither kept apart nor in a pack that
// was let in and is kept.
func (p *Pen) Strangers(ids []string) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for _, id := range ids {
		if p.pack != nil && p.pack.Has(id) {
			continue
		}
		if p.dir != "" {
			if _, err := os.Lstat(filepath.Join(p.dir, id[:2], id[2:])); err == nil {
				continue
			}
		}
		list = append(list, id)
	}
	if len(list) == 0 {
		return nil, nil
	}
	if p.dir != "" {
		found, err := filepath.Glob(GlobLiteral(p.dir) + "/pack/pack-*.idx")
		if err != nil {
			return nil, err
		}
		for _, idx := range found {
			x, err := pack.ReadIndex(idx, p.IDLen)
			if err != nil {
				return nil, fmt.Errorf("look into a quarantine: %w", err)
			}
			list = slices.DeleteFunc(list, x.Has)
		}
	}
	return p.withoutKept(list), nil
}

// withoutKept takes away from list what is in a kept pack of ours, which then
// stays for as long as a save may run. mu is held.
func (p *Pen) withoutKept(list []string) []string {
	if len(list) == 0 {
		return list
	}
	for _, own := range Kept(p.Objects) {
		before := len(list)
		x, err := pack.ReadIndex(own+".idx", p.IDLen)
		if err != nil {
			continue
		}
		now := time.Now()
		if !slices.ContainsFunc(list, x.Has) || os.Chtimes(own+".keep", now, now) != nil {
			continue
		}
		if list = slices.DeleteFunc(list, x.Has); len(list) < before {
			p.relied = append(p.relied, own+".keep")
		}
	}
	return list
}

// Kept gives the paths, without an ending, of the packs in an object directory
// that a ".keep" of ours keeps.
func Kept(objects string) []string {
	keeps, _ := filepath.Glob(GlobLiteral(objects) + "/pack/pack-*.keep")
	own := keeps[:0]
	for _, keep := range keeps {
		if data, err := os.ReadFile(keep); err == nil && string(data) == keepText {
			own = append(own, strings.TrimSuffix(keep, ".keep"))
		}
	}
	return own
}

// RemovePack removes a pack, and what only sums up the packs that there are.
func RemovePack(store, base string) error {
	files := []string{filepath.Join(store, "pack", "multi-pack-index"), base + ".idx"}
	for _, end := range []string{".pack", ".keep", ".promisor", ".rev", ".bitmap", ".mtimes"} {
		files = append(files, base+end)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Listed is a list of object directories, as git reads it.
func Listed(paths ...string) string {
	quoted := make([]string, 0, len(paths))
	for _, path := range paths {
		quoted = append(quoted, listed(path))
	}
	return strings.Join(quoted, string(os.PathListSeparator))
}

func listed(path string) string {
	if !strings.ContainsAny(path, "\":\\\n\t") && !strings.HasPrefix(path, "#") {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(path) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// RemoveOlder removes a file that was not touched since then; git touches a loose
// object that somebody writes again.
func RemoveOlder(path string, since time.Time) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && st.ModTime().After(since) {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	return err
}
