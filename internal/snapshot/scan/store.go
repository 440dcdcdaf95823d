package scan

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

const (
	// batchSize is how many files one git process stores.
	batchSize = 4096
	// batchBytes is how many bytes that may be, except for a single file.
	batchBytes = 256_000_000
	// slowestDisk is what any disk is taken to manage, in bytes a second.
	slowestDisk = 5_000_000
	// manyTracked is the default of Options.ManyTracked.
	manyTracked = 200
	// rereads is how often a file that changes while it is read is read again.
	rereads = 2
	// manyRereads is how often a file is stored again whose object was taken away.
	manyRereads = 10
)

const modeGitlink = git.ModeGitlink

// store puts the content of all that changed into the object store and the
// entries into the table.
func (p *pass) store(progress func(done, total int64)) error {
	list := p.usable(p.changed)
	list, err := p.takeKnown(list)
	if err != nil {
		return err
	}
	if list, err = p.guard(list); err != nil {
		return err
	}
	if err := p.checkRoom(list); err != nil {
		return err
	}
	total := int64(len(list))
	done := int64(0)
	for round := 0; len(list) > 0 && (round <= rereads || p.taken); round++ {
		if round > manyRereads {
			return errors.New("another program takes new objects away as fast as they are stored")
		}
		p.taken = false
		var again []work
		for len(list) > 0 {
			n := batch(list)
			moved, err := p.storeBatch(list[:n])
			if err != nil {
				return err
			}
			again = append(again, moved...)
			if list = list[n:]; len(list) > 0 {
				// Many steps: what is done is not to be done again after a kill.
				if err := p.s.repo.Flush(); err != nil {
					return err
				}
			}
			if done += int64(n); progress != nil && round == 0 {
				progress(done, total)
			}
		}
		list = again
	}
	return nil
}

// batch tells how many files of list go into the next batch.
func batch(list []work) int {
	var bytes int64
	for n, w := range list {
		if bytes += w.stat.size; n == batchSize || n > 0 && bytes > batchBytes {
			return n
		}
	}
	return len(list)
}

// patience is how long git may be silent while it stores that many bytes.
func (s *Scanner) patience(bytes int64) time.Duration {
	return s.repo.Git().Stall() + time.Duration(bytes/slowestDisk)*time.Second
}

// usable drops what may not or cannot be read, and applies the limits.
func (p *pass) usable(list []work) []work {
	kept := list[:0]
	candidates := p.over
	for _, w := range list {
		if reason := p.unusable(w); reason != "" {
			p.leaveFile(w, reason)
			continue
		}
		kept = append(kept, w)
		if !w.tracked && w.kind == regular {
			candidates = append(candidates, snapshot.Candidate{Path: w.path, Size: w.stat.size, New: w.grew})
		}
	}
	out := map[string]string{}
	for _, l := range snapshot.Select(candidates, p.limits, p.include) {
		out[l.Path] = l.Reason
	}
	for _, c := range p.over {
		p.leave(c.Path, out[c.Path])
	}
	list, kept = kept, kept[:0]
	for _, w := range list {
		if reason := out[w.path]; reason != "" && !w.tracked {
			p.leaveFile(w, reason)
			continue
		}
		kept = append(kept, w)
	}
	return kept
}

// unusable says why w cannot be stored; empty: it can.
func (p *pass) unusable(w work) string {
	if w.kind != regular {
		if git.CheckEntry(w.path, git.ModeLink) != nil {
			return snapshot.BadName
		}
		return ""
	}
	if git.CheckPath(w.path) != nil {
		return snapshot.BadName
	}
	if err := readable(p.s.abs(w.path)); isClosed(err) {
		return snapshot.Unreadable
	}
	return ""
}

// leaveFile leaves w out: a tracked path keeps the index's entry.
func (p *pass) leaveFile(w work, reason string) {
	p.leave(w.path, reason)
	w.at.keepIndexEntry(w.at.find(w.name))
	p.noteBare(w.at)
}

// takeKnown takes over from the user's index what git knows to be unchanged.
// Order matters: the stat data in list are older than git's look.
func (p *pass) takeKnown(list []work) ([]work, error) {
	tracked := 0
	for _, w := range list {
		if w.tracked {
			tracked++
		}
	}
	if tracked < p.s.many || p.s.indexBroken {
		return list, nil
	}
	own, err := p.asGitKnows(list)
	if err != nil {
		return nil, err
	}
	kept := list[:0]
	for i, w := range list {
		if own[i] == notKnown {
			kept = append(kept, w)
			continue
		}
		e := w.at.find(w.name)
		w.at.take(e, e.idxMode, e.idxID)
		w.at.reform(e, own[i].form(), oid{})
		p.s.allRead = false
		e.held = w.stat.size
		p.settle(e, w.stat, p.began)
	}
	return kept, nil
}

// settle notes that e's content was taken at began, while its stat data were st.
func (p *pass) settle(e *entry, st stat, began int64) {
	e.stat = st
	e.clear(fClean)
	if max(st.mtime, st.ctime) < began-int64(racyWindow) {
		e.set(fClean)
	}
}

func (p *pass) checkRoom(list []work) error {
	if len(list) == 0 {
		return nil
	}
	var fresh int64
	for _, w := range list {
		if w.grew {
			fresh += w.stat.size
		}
	}
	return snapshot.CheckRoom(p.s.repo.CommonDir, fresh)
}

// storeBatch stores the files in list by a private index that holds nothing
// else. It returns those that changed while they were read.
func (p *pass) storeBatch(list []work) ([]work, error) {
	index, done, err := p.s.tempIndex()
	if err != nil {
		return nil, err
	}
	defer done()
	paths := make([]string, 0, len(list))
	behind := map[string]bool{}
	var known []git.Entry
	var bytes int64
	for _, w := range list {
		bytes += w.stat.size
		paths = append(paths, w.path)
		if w.filter != "" {
			behind[w.path] = true
		}
		if e := w.at.find(w.name); w.tracked && !e.has(fConflict) && e.idxMode != modeGitlink {
			known = append(known, git.Entry{Path: w.path, Mode: e.idxMode, ID: e.idxID.text(p.s.repo.IDLen)})
		}
	}
	if len(known) > 0 {
		if err := p.s.repo.SetIndexEntries(p.ctx, index, known); err != nil {
			return nil, err
		}
	}
	began := p.s.now().UnixNano()
	patient := p.s.repo.With(p.s.repo.Git().WithStall(p.s.patience(bytes)))
	a := &adding{ctx: p.ctx, s: p.s, content: patient.Through(p.outside.Filters), index: index, bad: map[string]string{}, behind: behind}
	if err := a.add(paths); err != nil {
		return nil, err
	}
	stored, err := p.s.repo.IndexEntries(p.ctx, index)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]git.IndexEntry, len(stored))
	for _, ie := range stored {
		ids[ie.Path] = ie
	}
	gone, err := p.hold(list, ids)
	if err != nil {
		return nil, err
	}
	forms, err := p.readForms(list, ids)
	if err != nil {
		return nil, err
	}
	var again, odd []work
	for i, w := range list {
		if gone[ids[w.path].ID] {
			p.taken = true
			again = append(again, w)
			continue
		}
		switch reason := a.bad[w.path]; {
		case reason == "":
		case reason == snapshot.NotStorable && w.kind == regular && w.filter == "":
			odd = append(odd, w)
			continue
		default:
			if err := p.refused(w, reason); err != nil {
				return nil, err
			}
			continue
		}
		if p.note(&w, ids, began, forms[i]) {
			again = append(again, w)
		}
	}
	moved, err := p.storeAsIs(odd, began)
	return append(again, moved...), err
}

// hold keeps what git found to be in the repository already. It tells which of
// it has gone since.
func (p *pass) hold(list []work, ids map[string]git.IndexEntry) (map[string]bool, error) {
	var stored []string
	for _, w := range list {
		ie, ok := ids[w.path]
		if e := w.at.find(w.name); ok && ie.Mode != modeGitlink && !(w.tracked && e.idxID == parseOID(ie.ID)) {
			stored = append(stored, ie.ID)
		}
	}
	missing, err := p.s.repo.Hold(p.ctx, stored)
	gone := make(map[string]bool, len(missing))
	for _, id := range missing {
		gone[id] = true
	}
	return gone, err
}

// note enters what git stored for w into the table; it tells whether w changed
// meanwhile and is to be read again.
func (p *pass) note(w *work, ids map[string]git.IndexEntry, began int64, read onDisk) bool {
	e := w.at.find(w.name)
	ie, ok := ids[w.path]
	if !ok {
		w.at.drop(e)
		return false
	}
	w.at.take(e, ie.Mode, parseOID(ie.ID))
	e.held = w.stat.size
	k, st, err := lstat(p.s.abs(w.path))
	if err != nil || k == absent {
		w.at.reform(e, formUnread, oid{})
		e.clear(fClean)
		return false
	}
	if st != w.stat || read.moved {
		w.at.reform(e, formUnread, oid{})
		e.clear(fClean)
		w.stat, w.kind = st, k
		if k == regular {
			e.stat = st
			p.notePerm(w.at, e, w.path)
		}
		return k == regular || k == link
	}
	w.at.reform(e, read.form, read.raw)
	p.settle(e, st, began)
	return false
}

// adding takes paths into a private index. A path that git cannot take costs
// only itself: it is named in bad.
type adding struct {
	ctx     context.Context
	s       *Scanner
	content *git.Through // patient enough for the batch
	index   string
	bad     map[string]string
	behind  map[string]bool // a filter program
	proved  bool            // the store was seen to work
}

func (a *adding) add(paths []string) error {
	err := a.content.AddToIndex(a.ctx, a.index, paths)
	if err == nil || len(paths) == 0 {
		return err
	}
	if git.Stalled(err) && len(a.behind) > 0 {
		if rest := a.unfiltered(paths); len(rest) < len(paths) {
			_ = os.Remove(a.index + ".lock") // what the git that was ended left
			return a.add(rest)               // it is a filter that hangs
		}
	}
	reason, ok := snapshot.Refusal(err, paths)
	if !ok {
		return err
	}
	if reason == snapshot.NotStorable && !a.proved {
		if a.s.probe(a.ctx) != nil {
			return err
		}
		a.proved = true
	}
	if len(paths) == 1 {
		a.bad[paths[0]] = reason
		return nil
	}
	half := len(paths) / 2
	if err := a.add(paths[:half]); err != nil {
		return err
	}
	return a.add(paths[half:])
}

// unfiltered is paths without those behind a filter program, which are bad then.
func (a *adding) unfiltered(paths []string) []string {
	var rest []string
	for _, path := range paths {
		if a.behind[path] {
			a.bad[path] = snapshot.Filter
			continue
		}
		rest = append(rest, path)
	}
	return rest
}

// probe tells what is wrong with git or the store when it is neither that a
// private index can be written, nor that a file can be put where objects are.
func (s *Scanner) probe(ctx context.Context) error {
	index, done, err := s.tempIndex()
	if err != nil {
		return err
	}
	defer done()
	if err := s.repo.Through(nil).AddToIndex(ctx, index, nil); err != nil {
		return err
	}
	some := git.Entry{Path: "probe", Mode: modeGitlink, ID: strings.Repeat("1", 2*s.repo.IDLen)}
	if err := s.repo.SetIndexEntries(ctx, index, []git.Entry{some}); err != nil {
		return err
	}
	// The name is one that git removes by itself, should this be killed here.
	f, err := os.CreateTemp(filepath.Join(s.repo.CommonDir, "objects"), "tmp_obj_")
	if err != nil {
		return err
	}
	_, err = f.WriteString("probe")
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

const tempIndexPrefix = "index-"

// removeTempIndexes removes what a save that was killed left behind.
func (s *Scanner) removeTempIndexes() {
	list, _ := os.ReadDir(s.dir)
	for _, d := range list {
		if number, ok := strings.CutPrefix(d.Name(), tempIndexPrefix); ok && d.IsDir() && number != "" && strings.Trim(number, "0123456789") == "" {
			_ = os.RemoveAll(filepath.Join(s.dir, d.Name()))
		}
	}
}

// tempIndex gives the path of a private index that does not exist yet; done
// removes it and what git may have left beside it.
func (s *Scanner) tempIndex() (path string, done func(), err error) {
	dir, err := os.MkdirTemp(s.dir, tempIndexPrefix)
	if err != nil {
		return "", nil, fmt.Errorf("make a private index: %w", err)
	}
	return filepath.Join(dir, "index"), func() { _ = os.RemoveAll(dir) }, nil
}
