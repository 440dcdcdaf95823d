package scan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/turnback/turnback/internal/snapshot"
	"github.com/turnback/turnback/internal/snapshot/attrfile"
	"github.com/turnback/turnback/internal/snapshot/settings"
)

// racyWindow is how old a file's times must be before equal stat data prove
// that nothing changed: file systems and kernels keep times that coarsely.
const racyWindow = 2 * time.Second

// readers is how many directories are read at once.
const readers = 8

// pass is one look at the whole disk.
type pass struct {
	s        *Scanner
	ctx      context.Context
	began    int64 // nanoseconds
	limits   snapshot.Limits
	include  []string
	passing  map[string]bool
	buffers  sync.Pool
	mu       sync.Mutex
	unknown  []place // git has to say whether they are ignored
	changed  []work
	over     []snapshot.Candidate // untracked and past the limit for one file
	left     []snapshot.LeftOut
	newRules bool // an ignore file differs from what earlier verdicts rest on
	taken    bool // another program took away what was stored in this round
	kept     kept
	outside  settings.Settings // once it is read

	attributes []attrfile.File // those in the work tree
	ruleFiles  []place         // the ignore files in it
}

// place is an entry of a directory, found again by name.
type place struct {
	at   *node
	name string
	path string
}

// work is a file whose content has to be stored.
type work struct {
	place
	stat    stat
	kind    kind
	tracked bool
	grew    bool   // the tree did not hold it, or with another size
	filter  string // the filter that its content goes through; empty: none
}

func (p *pass) leave(path, reason string) {
	p.mu.Lock()
	p.left = append(p.left, snapshot.LeftOut{Path: path, Reason: reason})
	p.mu.Unlock()
}

// walk reads the directories in roots and all below that are not ignored.
func (p *pass) walk(roots []*node) error {
	g, ctx := errgroup.WithContext(p.ctx)
	g.SetLimit(readers)
	w := walker{pass: p, ctx: ctx, group: g}
	var err error
	for _, n := range roots {
		path := n.path()
		var st stat
		if _, st, err = lstat(p.s.abs(path)); isClosed(err) && n.parent != nil {
			err = nil
			w.close(n, path)
			continue
		}
		if err != nil {
			break
		}
		if err = w.spawn(n, path, st); err != nil {
			break
		}
	}
	return errors.Join(err, g.Wait())
}

type walker struct {
	*pass
	ctx   context.Context
	group *errgroup.Group
}

// spawn reads n in a goroutine of its own while there is room for one.
func (w walker) spawn(n *node, path string, st stat) error {
	if w.group.TryGo(func() error { return w.dir(n, path, st) }) {
		return nil
	}
	return w.dir(n, path, st)
}

// read lists the folder of n, whose stat data are st. Where those prove that no
// name came or went since the last time, the names are not read again.
func (w walker) read(n *node, path string, st stat) (list []found, err error) {
	buf, _ := w.buffers.Get().(*[]byte)
	if buf == nil {
		b := make([]byte, 32<<10)
		buf = &b
	}
	defer w.buffers.Put(buf)
	if n.known && n.listed == st && st != (stat{}) {
		names := make([]string, 0, len(n.entries))
		for i := range n.entries {
			if n.entries[i].kind != absent {
				names = append(names, n.entries[i].name)
			}
		}
		list, complete, err := readDir(w.s.abs(path), *buf, names)
		if err != nil || complete {
			return list, err
		}
	}
	list, _, err = readDir(w.s.abs(path), *buf, nil)
	n.listed = st
	if err != nil || w.isYoung(st) {
		n.listed = stat{}
	}
	return list, err
}

// dir brings n up to what the disk says, and goes on below.
func (w walker) dir(n *node, path string, st stat) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	list, err := w.read(n, path, st)
	switch {
	case err == nil:
	case isClosed(err) && n.parent != nil:
		w.close(n, path)
		return nil
	case isGone(err) && n.parent != nil:
		w.vanish(n, path)
		return nil
	default:
		return fmt.Errorf("read folder %q: %w", path, err)
	}
	list, gitDir := withoutDotGit(list)
	if gitDir != nil {
		n.listed = stat{} // .git is no entry, so it has to be seen each time
	}
	if gitDir != nil && n.parent != nil && n.tracked == 0 {
		nested, err := w.isNested(n, path, gitDir.stat)
		if err != nil {
			return err
		}
		if nested {
			w.leave(path, snapshot.NestedRepo)
			w.vanish(n, path)
			return nil
		}
	}
	w.noteRules(n, path, list)
	w.noteAttributes(n, path, list)
	n.known, n.gone = true, false
	w.merge(n, path, list)
	for i := range list {
		w.present(n, n.find(list[i].name), &list[i], path)
	}
	w.noteFolder(n, path, st.mode)
	for i := range n.entries {
		if e := &n.entries[i]; e.kind == directory && w.descends(e) {
			if err := w.spawn(n.below(e), join(path, e.name), e.stat); err != nil {
				return err
			}
		}
	}
	return nil
}

// close takes note that n cannot be read.
func (w walker) close(n *node, path string) {
	w.leave(path, snapshot.Unreadable)
	n.each(func(at *node, e *entry) {
		at.keepIndexEntry(e)
		if e.has(fTracked) && at.refuses(e.name) {
			w.leave(join(at.path(), e.name), snapshot.BadName)
		}
	})
}

// descends tells whether what is below e belongs to the work tree: there is
// something tracked, or git said that e is not ignored.
func (w walker) descends(e *entry) bool {
	if e.has(fTracked) && e.idxMode == modeGitlink {
		return false
	}
	return (e.dir != nil && e.dir.tracked > 0) || (e.has(fJudged) && !e.has(fIgnored))
}

// withoutDotGit sorts list by name and takes .git out of it.
func withoutDotGit(list []found) ([]found, *found) {
	slices.SortFunc(list, func(a, b found) int { return strings.Compare(a.name, b.name) })
	i, ok := slices.BinarySearchFunc(list, ".git", func(f found, s string) int { return strings.Compare(f.name, s) })
	if !ok {
		return list, nil
	}
	gitDir := list[i]
	return slices.Delete(list, i, i+1), &gitDir
}

// isNested tells whether git takes n for a repository of its own.
func (w walker) isNested(n *node, path string, gitDir stat) (bool, error) {
	if n.nested == gitDir {
		return true, nil
	}
	nested, err := w.s.repo.IsNestedRepo(w.ctx, w.s.abs(path))
	if err != nil {
		return false, err
	}
	n.nested = stat{}
	if nested {
		n.nested = gitDir
	}
	return nested, nil
}

// noteRules sees whether the ignore file of n changed since verdicts were given.
func (w walker) noteRules(n *node, path string, list []found) {
	var now stat
	i, ok := slices.BinarySearchFunc(list, ignoreFile, func(f found, s string) int { return strings.Compare(f.name, s) })
	if ok {
		now = list[i].stat
	}
	if n.known && (now != n.rules || n.young) {
		w.mu.Lock()
		w.newRules = true
		w.mu.Unlock()
	}
	n.rules, n.young = now, ok && w.isYoung(now)
	if ok && list[i].kind == regular {
		w.mu.Lock()
		w.ruleFiles = append(w.ruleFiles, place{n, ignoreFile, join(path, ignoreFile)})
		w.mu.Unlock()
	}
}

// isYoung tells whether a later change within one tick could keep st as it is.
func (p *pass) isYoung(st stat) bool {
	return max(st.mtime, st.ctime) >= p.began-int64(racyWindow)
}

// merge gives n an entry for every name in list, and takes note of names that
// are no longer there.
func (w walker) merge(n *node, path string, list []found) {
	if sameNames(n.entries, list) {
		return
	}
	merged := make([]entry, 0, max(len(list), len(n.entries)))
	i := 0
	for _, f := range list {
		for ; i < len(n.entries) && n.entries[i].name < f.name; i++ {
			if e := n.entries[i]; w.lost(n, &e, path) {
				merged = append(merged, e)
			}
		}
		if i < len(n.entries) && n.entries[i].name == f.name {
			merged = append(merged, n.entries[i])
			i++
			continue
		}
		merged = append(merged, entry{name: f.name})
	}
	for ; i < len(n.entries); i++ {
		if e := n.entries[i]; w.lost(n, &e, path) {
			merged = append(merged, e)
		}
	}
	n.entries = merged
}

func sameNames(entries []entry, list []found) bool {
	if len(entries) != len(list) {
		return false
	}
	for i := range entries {
		if entries[i].name != list[i].name {
			return false
		}
	}
	return true
}

// lost takes note that nothing stands at e; it tells whether e is still needed.
func (w walker) lost(n *node, e *entry, path string) bool {
	e.kind = absent
	e.clear(fClean | fJudged | fIgnored)
	if e.dir != nil {
		w.vanish(e.dir, join(path, e.name))
	}
	switch {
	case e.has(fTracked) && (e.idxMode == modeGitlink || e.has(fSkip)) && n.refuses(e.name):
		w.leave(join(path, e.name), snapshot.BadName)
		n.drop(e)
	case e.has(fTracked) && e.idxMode == modeGitlink:
		w.leave(join(path, e.name), snapshot.Submodule)
		n.take(e, e.idxMode, e.idxID)
	case e.has(fTracked) && e.has(fSkip):
		n.take(e, e.idxMode, e.idxID)
	default:
		n.drop(e)
	}
	return e.has(fTracked) || (e.dir != nil && e.dir.tracked > 0)
}

// vanish takes note that n is not there, or is none of ours.
func (w walker) vanish(n *node, path string) {
	if n.gone {
		return
	}
	n.known, n.rules, n.attributes = false, stat{}, stat{}
	kept := n.entries[:0]
	told := false // there is something to be left out each time
	for i := range n.entries {
		e := n.entries[i]
		if w.lost(n, &e, path) {
			told = told || e.idxMode == modeGitlink || e.has(fSkip) && n.refuses(e.name) || (e.dir != nil && !e.dir.gone)
			kept = append(kept, e)
		}
	}
	clear(n.entries[len(kept):])
	n.entries = kept
	n.gone = !told
}

// present brings e up to f, which stands on disk.
func (w walker) present(n *node, e *entry, f *found, dir string) {
	path := join(dir, f.name)
	if e.kind != f.kind {
		e.kind = f.kind
		e.clear(fClean | fJudged | fIgnored)
		if f.kind != directory && e.dir != nil {
			w.vanish(e.dir, path)
		}
	}
	switch f.kind {
	case directory:
		e.stat = f.stat
		w.presentDir(n, e, path)
	case special:
		if e.has(fTracked) {
			w.leaveTracked(n, e, path, snapshot.NotRegular)
		}
		n.keepIndexEntry(e)
	default:
		w.presentFile(n, e, f, path)
	}
}

// leaveTracked leaves out a tracked path of which the index's entry is kept,
// unless its name is the worse reason.
func (w walker) leaveTracked(n *node, e *entry, path, reason string) {
	if n.refuses(e.name) {
		reason = snapshot.BadName
	}
	w.leave(path, reason)
}

func (w walker) presentDir(n *node, e *entry, path string) {
	if e.has(fTracked) && e.idxMode == modeGitlink {
		w.leaveTracked(n, e, path, snapshot.Submodule)
		n.keepIndexEntry(e)
		return
	}
	n.drop(e)
	if e.dir != nil && e.dir.tracked > 0 {
		return
	}
	switch {
	case !e.has(fJudged):
		w.ask(place{n, e.name, path})
	case e.has(fIgnored) && e.dir != nil:
		w.vanish(e.dir, path)
	}
}

func (w walker) presentFile(n *node, e *entry, f *found, path string) {
	if e.stat != f.stat {
		e.clear(fClean)
		e.stat = f.stat
	}
	switch {
	case e.has(fTracked):
		w.candidate(n, e, path)
	case w.passing[path]:
		n.drop(e)
	case !e.has(fJudged):
		w.ask(place{n, e.name, path})
	case e.has(fIgnored):
		n.drop(e)
	default:
		w.candidate(n, e, path)
	}
}

func (p *pass) ask(at place) {
	p.mu.Lock()
	p.unknown = append(p.unknown, at)
	p.mu.Unlock()
}

// candidate is a file that belongs to the tree; its content is stored unless
// that was done for the same stat data.
func (p *pass) candidate(n *node, e *entry, path string) {
	untracked := !e.has(fTracked)
	if untracked && e.kind == regular && p.limits.MaxUntracked >= 0 && e.stat.size > p.limits.MaxUntracked {
		if !slices.Contains(p.include, path) {
			n.drop(e)
			p.mu.Lock()
			p.over = append(p.over, snapshot.Candidate{Path: path, Size: e.stat.size})
			p.mu.Unlock()
			return
		}
	}
	if e.kind == regular {
		p.notePerm(n, e, path)
	}
	if e.has(fClean) && e.has(fInTree) {
		return
	}
	grew := !e.has(fInTree) || e.held != e.stat.size
	p.mu.Lock()
	p.changed = append(p.changed, work{place: place{n, e.name, path}, stat: e.stat, kind: e.kind, tracked: !untracked, grew: grew})
	p.mu.Unlock()
}

// judge asks git about what the walk did not know, and walks what is not ignored.
func (p *pass) judge() error {
	for len(p.unknown) > 0 {
		batch := p.unknown
		p.unknown = nil
		ignored, err := p.ignored(batch)
		if err != nil {
			return err
		}
		var next []*node
		for _, at := range batch {
			if n := p.verdict(at, ignored[at.path]); n != nil {
				next = append(next, n)
			}
		}
		if err := p.walk(next); err != nil {
			return err
		}
	}
	return nil
}

// ignored asks git which places it ignores.
func (p *pass) ignored(batch []place) (map[string]bool, error) {
	var paths, sparse []string
	for _, at := range batch {
		if at.at.hasSparseRules() {
			sparse = append(sparse, at.path)
		} else {
			paths = append(paths, at.path)
		}
	}
	ignored, err := p.s.repo.Ignored(p.ctx, "", paths)
	if err != nil || len(sparse) == 0 {
		return ignored, err
	}
	more, err := p.s.repo.IgnoredInSparse(p.ctx, sparse)
	if ignored == nil {
		return more, err
	}
	maps.Copy(ignored, more)
	return ignored, err
}

// verdict takes note of what git said about a place; a directory to walk is returned.
func (p *pass) verdict(at place, ignored bool) *node {
	e := at.at.find(at.name)
	e.set(fJudged)
	e.clear(fIgnored)
	w := walker{pass: p, ctx: p.ctx}
	switch {
	case ignored:
		e.set(fIgnored)
		at.at.drop(e)
		if e.dir != nil {
			w.vanish(e.dir, at.path)
		}
	case e.kind == directory:
		return at.at.below(e)
	default:
		p.candidate(at.at, e, at.path)
	}
	return nil
}
