// Package scan makes the tree of a work tree from a table of stat data of its
// own: it looks at every file, in parallel, and lets git store only what
// changed. The table is a cache: when it is lost or stale, more is looked at,
// and the tree is the same.
package scan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// Scanner implements snapshot.Maker for one work tree.
type Scanner struct {
	repo *git.Repo
	dir  string // a folder of our own, for the table and private indexes
	now  func() time.Time
	env  func(string) string

	mu          sync.Mutex
	table       *table
	indexBroken bool
	unsaved     bool
}

var _ snapshot.Maker = (*Scanner)(nil)

// table is what is known from earlier looks.
type table struct {
	root  *node
	index indexKey          // which user's index the tracked flags are from
	rules [sha256.Size]byte // of the ignore rules outside the tree
	tree  string            // what the last Make returned; empty: none; unheld: it failed
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
}

// New makes a Scanner. It reads its table when it is first used.
func New(o Options) *Scanner {
	return &Scanner{repo: o.Repo, dir: o.Dir, now: o.Now, env: o.Env}
}

// Make implements snapshot.Maker.
func (s *Scanner) Make(ctx context.Context, r snapshot.Request) (snapshot.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table == nil {
		s.table = s.load()
	}
	res, err := s.make(ctx, r)
	s.unsaved = true
	if err != nil {
		// What was stored need not be stored again. But nothing holds it yet, and
		// ignore files that changed may have been seen without being acted on.
		s.table.tree, s.table.rules = unheld, [sha256.Size]byte{}
		return snapshot.Result{}, err
	}
	return res, nil
}

func (s *Scanner) make(ctx context.Context, r snapshot.Request) (snapshot.Result, error) {
	if err := s.syncTracked(ctx, r.Head); err != nil {
		return snapshot.Result{}, err
	}
	if s.table.tree != "" && (r.Reachable == nil || !r.Reachable(s.table.tree)) {
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
	tree, err := s.writeTree(ctx)
	if err != nil {
		return snapshot.Result{}, err
	}
	s.table.tree = tree
	return snapshot.Result{Tree: tree, LeftOut: snapshot.SortLeftOut(p.left)}, nil
}

// look walks the disk; a second time when ignore rules turn out to differ from
// those that earlier verdicts rest on.
func (s *Scanner) look(ctx context.Context, r snapshot.Request) (*pass, error) {
	settings := s.readSettings(ctx)
	p, walkErr := s.walkAll(ctx, r)
	rules, err := settings()
	if err := errors.Join(walkErr, err); err != nil {
		return nil, err
	}
	if p.newRules || rules != s.table.rules {
		s.table.forgetVerdicts()
		s.table.rules = rules
		if p, err = s.walkAll(ctx, r); err != nil {
			return nil, err
		}
	}
	return p, p.judge()
}

func (s *Scanner) walkAll(ctx context.Context, r snapshot.Request) (*pass, error) {
	p := &pass{s: s, ctx: ctx, began: s.now().UnixNano(), limits: r.Limits, include: r.Include}
	return p, p.walk([]*node{s.table.root})
}

// forgetVerdicts makes git judge every untracked path again.
func (t *table) forgetVerdicts() {
	t.root.each(func(_ *node, e *entry) { e.clear(fJudged | fIgnored) })
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
	entries, broken, err := s.repo.TrackedEntries(ctx, head)
	if err != nil {
		return err
	}
	s.indexBroken = broken != nil
	if err := s.asInHead(ctx, head, entries); err != nil {
		return err
	}
	s.table.root.setTracked(entries)
	s.table.index = key
	if young {
		s.table.index = indexKey{}
	}
	return nil
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

// readSettings starts reading what decides about ignored files and lives
// outside the tree; the result gives a digest of it.
func (s *Scanner) readSettings(ctx context.Context) func() ([sha256.Size]byte, error) {
	type answer struct {
		sum [sha256.Size]byte
		err error
	}
	done := make(chan answer, 1)
	go func() {
		sum, err := s.outsideRules(ctx)
		done <- answer{sum, err}
	}()
	return func() ([sha256.Size]byte, error) {
		a := <-done
		return a.sum, a.err
	}
}

func (s *Scanner) outsideRules(ctx context.Context) (sum [sha256.Size]byte, err error) {
	set, err := s.repo.Settings(ctx, `^core\.(excludesfile|ignorecase|filemode|symlinks|precomposeunicode)$`)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	for _, k := range []string{"core.ignorecase", "core.filemode", "core.symlinks", "core.precomposeunicode"} {
		fmt.Fprintf(h, "%s=%q\n", k, set[k])
	}
	excludes, named := set["core.excludesfile"]
	if !named {
		excludes = s.defaultExcludes()
	}
	for _, path := range []string{filepath.Join(s.repo.CommonDir, "info", "exclude"), s.expandHome(excludes)} {
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			data = []byte(err.Error())
		}
		fmt.Fprintf(h, "%q %d\n", path, len(data))
		h.Write(data)
	}
	h.Sum(sum[:0])
	return sum, nil
}

// defaultExcludes is where git looks for the user's ignore file.
func (s *Scanner) defaultExcludes() string {
	if x := s.env("XDG_CONFIG_HOME"); x != "" {
		return filepath.Join(x, "git", "ignore")
	}
	return filepath.Join(s.env("HOME"), ".config", "git", "ignore")
}

func (s *Scanner) expandHome(path string) string {
	if rest, ok := cutHome(path); ok {
		return filepath.Join(s.env("HOME"), rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(s.repo.Worktree, path)
	}
	return path
}

func cutHome(path string) (string, bool) {
	if len(path) >= 2 && path[:2] == "~/" {
		return path[2:], true
	}
	return "", false
}

func (s *Scanner) abs(path string) string {
	if path == "" {
		return s.repo.Worktree
	}
	return s.repo.Worktree + "/" + path
}
