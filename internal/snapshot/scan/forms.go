package scan

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/blob"
	"github.com/turnback/turnback/internal/snapshot"
)

const encodingAttr = "working-tree-encoding"

var errNotRegular = errors.New("not a regular file")

// onDisk is what was read of a file that git has just stored.
type onDisk struct {
	form  form
	raw   oid  // formRaw: the blob of its bytes
	moved bool // it changed meanwhile
}

// readForms reads the files in list again, which git stored as ids say, and
// tells in which form each is on disk; by its place in list. The bytes that the
// blobs do not give back are stored, except of what a filter program hides.
// Whether a file changed between git's reading and this one is for the caller to
// see, by its stat data.
func (p *pass) readForms(list []work, ids map[string]git.IndexEntry) ([]onDisk, error) {
	out := make([]onDisk, len(list))
	own := make([]string, len(list)) // ids of the bytes, for formRaw
	sizes, err := p.filteredSizes(list, ids)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(p.ctx)
	g.SetLimit(readers)
	for i, w := range list {
		ie, ok := ids[w.path]
		switch {
		case w.filter != "" && w.stat.size != sizes[w.path]:
			out[i].form = formFiltered
		case ok && w.kind == regular && ie.Mode != git.ModeLink && ie.Mode != modeGitlink:
			g.Go(func() error {
				out[i].form, own[i] = p.s.readForm(w.path, ie.ID)
				return ctx.Err()
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var which []int
	var paths []string
	for i := range out {
		if list[i].filter != "" && out[i].form != formSame && out[i].form != formUnread {
			out[i].form = formFiltered // what the program hides stays hidden
		}
		if out[i].form == formRaw {
			which, paths = append(which, i), append(paths, list[i].path)
		}
	}
	stored, err := p.s.storeRaw(p.ctx, paths)
	if err != nil {
		return nil, err
	}
	for k, i := range which {
		if stored[k] != own[i] {
			out[i] = onDisk{moved: true}
			continue
		}
		out[i].raw = parseOID(stored[k])
	}
	return out, nil
}

// filteredSizes gives the bytes of the blobs that filter programs made of files
// in list, by path. A blob of another size than the file is none of its bytes.
func (p *pass) filteredSizes(list []work, ids map[string]git.IndexEntry) (map[string]int64, error) {
	var paths, blobs []string
	for _, w := range list {
		if ie, ok := ids[w.path]; ok && w.filter != "" {
			paths, blobs = append(paths, w.path), append(blobs, ie.ID)
		}
	}
	sizes, err := p.s.repo.Sizes(p.ctx, blobs)
	if err != nil {
		return nil, err
	}
	of := make(map[string]int64, len(paths))
	for i, path := range paths {
		of[path] = sizes[i]
	}
	return of, nil
}

// readForm compares the file at path with the blob id. For formRaw it gives the
// id of the file's bytes. A file that cannot be read is formUnread.
func (s *Scanner) readForm(path, id string) (form, string) {
	file, size, err := openFile(s.abs(path))
	if err != nil {
		return formUnread, ""
	}
	defer func() { _ = file.Close() }()
	own, err := blob.ID(s.repo.IDLen, file, size)
	if err != nil || own == "" {
		return formUnread, ""
	}
	if own == id {
		return formSame, ""
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return formUnread, ""
	}
	if lf, err := blob.LFID(s.repo.IDLen, file); err == nil && lf == id {
		return formCRLF, ""
	}
	return formRaw, own
}

// storeRaw stores the bytes of paths and gives their blobs' ids; none for a file
// that cannot be read any more.
func (s *Scanner) storeRaw(ctx context.Context, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	ids, err := s.repo.WriteRawFiles(ctx, paths)
	if err == nil {
		return ids, nil
	}
	if _, ok := snapshot.Refusal(err, paths); !ok {
		return nil, err
	}
	if len(paths) == 1 {
		return []string{""}, s.probe(ctx)
	}
	half := len(paths) / 2
	first, err := s.storeRaw(ctx, paths[:half])
	if err != nil {
		return nil, err
	}
	second, err := s.storeRaw(ctx, paths[half:])
	return append(first, second...), err
}

// known is what git and its index prove of a file that nobody has read here.
type known uint8

const (
	notKnown      known = iota // it has to be read
	knownSame                  // unchanged, and its bytes are those of the blob
	knownFiltered              // unchanged, and a filter program has a say in it
)

func (k known) form() form {
	if k == knownFiltered {
		return formFiltered
	}
	return formUnread
}

// asGitKnows tells which files of list git knows to be unchanged, by its stat
// data, and what that says of their bytes; by their place in list. Git's
// conversions of line ends and of $Id$ only ever shorten a file: where the sizes
// agree they did nothing. An encoding may keep the size.
func (p *pass) asGitKnows(list []work) ([]known, error) {
	var which []int
	var ids, paths []string
	for i, w := range list {
		if e := w.at.find(w.name); w.tracked && !e.has(fConflict|fAssume) && e.idxMode != modeGitlink && e.form != formDoubt {
			which, ids, paths = append(which, i), append(ids, e.idxID.text(p.s.repo.IDLen)), append(paths, w.path)
		}
	}
	var dirty []string
	var sizes []int64
	var attrs map[string]map[string]string
	g, ctx := errgroup.WithContext(p.ctx)
	g.Go(func() (err error) { dirty, err = p.s.repo.Through(p.outside.Filters).DirtyTracked(ctx); return err })
	g.Go(func() (err error) { sizes, err = p.s.repo.Sizes(ctx, ids); return err })
	if p.mentioned("filter", encodingAttr) {
		g.Go(func() (err error) {
			attrs, err = p.s.repo.Attributes(ctx, []string{"filter", encodingAttr}, paths)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	changed := make(map[string]bool, len(dirty))
	for _, path := range dirty {
		changed[path] = true
	}
	out := make([]known, len(list))
	for k, i := range which {
		a := attrs[paths[k]]
		_, filtered := p.outside.Filters[git.AttributeValue(a["filter"])]
		switch {
		case changed[paths[k]]:
		case filtered && sizes[k] != list[i].stat.size: // else it may be the stored form that is on disk
			out[i] = knownFiltered
		case filtered:
		case git.AttributeValue(a[encodingAttr]) == "" && sizes[k] == list[i].stat.size:
			out[i] = knownSame
		}
	}
	return out, nil
}

// readAtOnce is how many unread files are named at once.
const readAtOnce = 1024

// unread is a file that nobody has read here.
type unread struct {
	path string
	stat stat
	id   oid
}

// ReadUnread reads files that were taken over from git's index without being
// read, one after the other, until none is left or ctx ends. One whose bytes are
// not those of its blob, which only an encoding of earlier days or a stat that
// lies can bring about, is stored anew by the next Make. Make may run beside it.
func (s *Scanner) ReadUnread(ctx context.Context) error {
	for {
		s.mu.Lock()
		done := s.allRead
		s.mu.Unlock()
		if done {
			return nil
		}
		list := s.namesUnread(nil)
		if len(list) == 0 {
			return nil
		}
		if _, err := s.readUnread(ctx, list); err != nil {
			return err
		}
	}
}

// ReadPaths is ReadUnread for those of paths that are unread, and tells whether
// another Make is due.
func (s *Scanner) ReadPaths(ctx context.Context, paths []string) (due bool, err error) {
	return s.readUnread(ctx, s.namesUnread(paths))
}

func (s *Scanner) readUnread(ctx context.Context, list []unread) (due bool, err error) {
	for _, u := range list {
		if err := ctx.Err(); err != nil {
			return due, err
		}
		f, _ := s.readForm(u.path, u.id.text(s.repo.IDLen))
		if s.noteRead(u, f) {
			due = true
		}
	}
	return due, nil
}

// noteRead takes note of the form in which u was found; it tells whether that is
// another than was taken for granted.
func (s *Scanner) noteRead(u unread, f form) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.table.root.lookup(u.path)
	if e == nil || !e.unread() || e.stat != u.stat || e.id != u.id {
		return false
	}
	s.unsaved = true
	if e.form = formSame; f != formSame {
		e.form = formDoubt
		e.clear(fClean)
		return true
	}
	return false
}

// namesUnread names some of the files that are unread, or those of paths.
func (s *Scanner) namesUnread(paths []string) []unread {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table == nil {
		return nil
	}
	var list []unread
	if paths != nil {
		for _, path := range paths {
			if e := s.table.root.lookup(path); e != nil && e.unread() {
				list = append(list, unread{path, e.stat, e.id})
			}
		}
		return list
	}
	s.table.root.each(func(n *node, e *entry) {
		if len(list) < readAtOnce && e.unread() {
			list = append(list, unread{join(n.path(), e.name), e.stat, e.id})
		}
	})
	s.allRead = len(list) == 0
	return list
}

// unread tells whether e is a file in the tree that nobody has read here.
func (e *entry) unread() bool {
	return e.form == formUnread && e.has(fInTree) && e.has(fClean) && e.kind == regular && (e.mode == git.ModeFile || e.mode == git.ModeExec)
}
