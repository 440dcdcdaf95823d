// Package scan makes the tree of a work tree from a table of stat data of its
// own: it looks at every file, in parallel, and lets git store only what
// changed. The table is a cache: when it is lost or stale, more is looked at,
// and the tree is the same.
package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
	"github.com/turnback/turnback/internal/snapshot/attrfile"
	"github.com/turnback/turnback/internal/snapshot/settings"
)

// Scanner implements snapshot.Maker for one work tree.
type Scanner struct {
	repo *git.Repo
	dir  string // a folder of our own, for the table and private indexes
	now  func() time.Time
	many int

	settings settings.Reader

	mu          sync.Mutex
	table       *table
	attributes  attrfile.Cache
	indexBroken bool
	unsaved     bool
	allRead     bool // no file is unread
}

var _ snapshot.Maker = (*Scanner)(nil)

// table is what is known from earlier looks.
type table struct {
	root  *node
	index indexKey        // which user's index the tracked flags are from
	rules settings.Digest // of the ignore rules outside the tree
	modes settings.Digest // of the settings that say what a file on disk means; zero: none yet
	tree  string          // what the last Make returned; empty: none; unheld: it failed
	bytes string          // and its Bytes
	usual usual           // the permission bits that most had
	// staged are the entries of that index that are not those of HEAD.
	staged      []git.IndexEntry
	noneSkipped bool // git was told to do without no file; false: not known
	// sparse are ignore files that only the index has, and their ids; nil: not known.
	sparse []string
}

// unheld stands for a tree that no ref can hold.
const unheld = "none"

// indexKey tells whether the user's index is the same as before.
type indexKey struct {
	stat stat
	head string // HEAD's tree
}

// Options are what a Scanner needs.
type Options struct {
	Repo *git.Repo
	Dir  string                   // an existing folder of our own on the repository's disk
	Now  func() time.Time         //
	Env  func(name string) string // the environment that git has, for the place of the user's ignore file

	// Trusted tells whether a filter that the repository's own configuration
	// defines may run; nil: none may.
	Trusted func(git.Driver) bool

	// ManyTracked is from how many changed tracked files on git's own index is
	// asked which of them are as it knows them; 0: a good number.
	ManyTracked int
}

// New makes a Scanner. It reads its table when it is first used.
func New(o Options) *Scanner {
	return &Scanner{
		repo: o.Repo, dir: o.Dir, now: o.Now, many: cmp.Or(o.ManyTracked, manyTracked),
		settings: settings.Reader{Repo: o.Repo, Env: o.Env, Trusted: o.Trusted},
	}
}

// Make implements snapshot.Maker.
func (s *Scanner) Make(ctx context.Context, r snapshot.Request) (snapshot.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table == nil {
		s.table = s.load()
	}
	s.removeTempIndexes()
	res, err := s.make(ctx, r)
	s.unsaved = true
	if err != nil {
		// What was stored need not be stored again. But nothing holds it yet, and
		// ignore files that changed may have been seen without being acted on.
		s.table.tree, s.table.rules = unheld, settings.Digest{}
		return snapshot.Result{}, err
	}
	return res, nil
}

func (s *Scanner) make(ctx context.Context, r snapshot.Request) (snapshot.Result, error) {
	if err := s.syncTracked(ctx, r.Head); err != nil {
		return snapshot.Result{}, err
	}
	if s.table.tree != "" && (r.Reachable == nil || !r.Reachable(s.table.tree, s.table.bytes)) {
		if err := s.recheckObjects(ctx); err != nil {
			return snapshot.Result{}, err
		}
	}
	p, err := s.look(ctx, r)
	if err != nil {
		return snapshot.Result{}, err
	}
	if err := p.store(r.Progress); err != nil {
		return snapshot.Result{}, err
	}
	out, err := s.writeTrees(ctx)
	if err != nil {
		return snapshot.Result{}, err
	}
	s.table.tree, s.table.bytes = out.tree, out.bytes
	res := snapshot.Result{Tree: out.tree, Bytes: out.bytes, Converts: p.converts(), LeftOut: snapshot.SortLeftOut(p.left), Folders: p.folders(), Rules: p.rules(), LFSStorage: p.outside.LFSStorage}
	if p.outside.FileMode {
		res.Modes = p.modes()
	}
	if !s.indexBroken {
		res.Index = &snapshot.Index{Entries: s.table.staged, Blobs: s.stagedBlobs()}
		if !p.outside.Sparse {
			res.Without = s.table.without()
		}
	}
	return res, nil
}

// look walks the disk; again, with no verdict, when ignore rules turn out to differ
// from those that earlier verdicts rest on.
func (s *Scanner) look(ctx context.Context, r snapshot.Request) (*pass, error) {
	settings := s.readSettings(ctx)
	p, walkErr := s.walkAll(ctx, r)
	out, err := settings()
	if err := errors.Join(walkErr, err); err != nil {
		return nil, err
	}
	p.outside = out
	newModes := s.table.setModes(out.Modes)
	if !p.newRules && !newModes && out.Rules == s.table.rules {
		// The walk ends before folders that git is yet to be asked about: an ignore file
		// may have changed below them, too.
		if err := p.judge(); err != nil || !p.newRules {
			return p, err
		}
	}
	s.table.forgetVerdicts()
	s.table.rules = out.Rules
	if p, err = s.walkAll(ctx, r); err != nil {
		return nil, err
	}
	p.outside = out
	return p, p.judge()
}

func (s *Scanner) walkAll(ctx context.Context, r snapshot.Request) (*pass, error) {
	p := &pass{s: s, ctx: ctx, began: s.now().UnixNano(), limits: r.Limits, include: r.Include, passing: r.Passing}
	p.kept.usual = s.table.usual
	return p, p.walk([]*node{s.table.root})
}

// forgetVerdicts makes git judge every untracked path again.
func (t *table) forgetVerdicts() {
	t.root.each(func(_ *node, e *entry) { e.clear(fJudged | fIgnored) })
}

// setModes takes note of the settings that say what a file on disk means. It
// tells whether they are others than before; then every file is looked at again.
func (t *table) setModes(modes settings.Digest) bool {
	old := t.modes
	t.modes = modes
	if old == modes || old == (settings.Digest{}) {
		return false
	}
	t.root.each(func(_ *node, e *entry) { e.clear(fClean) })
	return true
}

// syncTracked reads the user's index again when it is another than before.
func (s *Scanner) syncTracked(ctx context.Context, head git.Head) error {
	_, st, err := lstat(s.repo.UserIndex())
	if err != nil {
		return fmt.Errorf("look at the index: %w", err)
	}
	key := indexKey{stat: st, head: head.Tree}
	young := max(st.mtime, st.ctime) >= s.now().UnixNano()-int64(racyWindow)
	if key == s.table.index && !young {
		return nil
	}
	entries, staged, broken, err := s.readIndex(ctx, head)
	if err != nil {
		return err
	}
	s.indexBroken = broken
	s.table.noteSparseRules(entries)
	if err := s.asInHead(ctx, head, entries); err != nil {
		return err
	}
	s.table.root.setTracked(entries)
	s.table.noneSkipped = !slices.ContainsFunc(entries, func(e git.IndexEntry) bool { return e.SkipWorktree })
	s.table.index, s.table.staged = key, staged
	// A file that git was told to do without, and that is there, can go under the same index.
	if young || broken || slices.ContainsFunc(entries, func(e git.IndexEntry) bool { return e.Unskipped }) {
		s.table.index = indexKey{}
	}
	return nil
}

// readIndex reads what is tracked, and what of it differs from HEAD. An index that
// is absent or cannot be read is broken: then HEAD says what is tracked.
func (s *Scanner) readIndex(ctx context.Context, head git.Head) (entries, staged []git.IndexEntry, broken bool, err error) {
	differ := make(chan func() (git.Staged, error), 1)
	go func() {
		d, err := s.repo.Staged(ctx, head.Tree)
		differ <- func() (git.Staged, error) { return d, err }
	}()
	entries, noIndex, err := s.repo.TrackedEntries(ctx, head)
	d, stagedErr := (<-differ)()
	if err != nil || noIndex != nil {
		return entries, nil, noIndex != nil, err
	}
	return entries, d.Of(entries), false, stagedErr
}

// asInHead gives absent skip-worktree entries what HEAD has for them.
func (s *Scanner) asInHead(ctx context.Context, head git.Head, entries []git.IndexEntry) error {
	if head.Tree == "" || !slices.ContainsFunc(entries, func(e git.IndexEntry) bool { return e.SkipWorktree }) {
		return nil
	}
	staged, err := s.repo.StagedAgainst(ctx, head.Tree)
	if err != nil {
		return err
	}
	old := make(map[string]git.Change, len(staged))
	for _, c := range staged {
		old[c.Path] = c
	}
	for i := range entries {
		if c, ok := old[entries[i].Path]; ok && entries[i].SkipWorktree && c.OldMode != 0 {
			entries[i].ID, entries[i].Mode = c.OldID, c.OldMode
		}
	}
	return nil
}

// readSettings starts reading what lives outside the tree; the result gives it.
func (s *Scanner) readSettings(ctx context.Context) func() (settings.Settings, error) {
	type answer struct {
		out settings.Settings
		err error
	}
	done := make(chan answer, 1)
	go func() {
		out, err := s.settings.Read(ctx)
		done <- answer{out, err}
	}()
	return func() (settings.Settings, error) {
		a := <-done
		return a.out, a.err
	}
}

func (s *Scanner) abs(path string) string {
	if path == "" {
		return s.repo.Worktree
	}
	return s.repo.Worktree + "/" + path
}
