// Package scan makes the tree of a work tree from a table of stat data of its
// own: it looks at every file, in parallel, and lets git store only what
// changed. The table is a cache: when it is lost or stale, more is looked at,
// and the tree is the same.
package scan

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
	"github.com/turnback/turnback/internal/snapshot/attrfile"
)

// Scanner implements snapshot.Maker for one work tree.
type Scanner struct {
	repo *git.Repo
	dir  string // a folder of our own, for the table and private indexes
	now  func() time.Time
	env  func(string) string
	many int

	trusted func(git.Driver) bool

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
	index indexKey // which user's index the tracked flags are from
	rules digest   // of the ignore rules outside the tree
	modes digest   // of the settings that say what a file on disk means; zero: none yet
	tree  string   // what the last Make returned; empty: none; unheld: it failed
	bytes string   // and its Bytes
	usual usual    // the permission bits that most had
	// staged are the entries of that index that are not those of HEAD.
	staged []git.IndexEntry
	// sparse are ignore files that only the index has, and their ids; nil: not known.
	sparse []string
}

// digest is of settings.
type digest [sha256.Size]byte

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
	return &Scanner{repo: o.Repo, dir: o.Dir, now: o.Now, env: o.Env, trusted: o.Trusted, many: cmp.Or(o.ManyTracked, manyTracked)}
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
		s.table.tree, s.table.rules = unheld, digest{}
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
	res := snapshot.Result{Tree: out.tree, Bytes: out.bytes, Converts: p.converts(), LeftOut: snapshot.SortLeftOut(p.left), Folders: p.folders(), Rules: p.outside.content, LFSStorage: p.outside.lfsStorage}
	if p.outside.fileMode {
		res.Modes = p.modes()
	}
	if !s.indexBroken {
		res.Index = &snapshot.Index{Entries: s.table.staged, Blobs: s.stagedBlobs()}
	}
	return res, nil
}

// look walks the disk; a second time when ignore rules turn out to differ from
// those that earlier verdicts rest on.
func (s *Scanner) look(ctx context.Context, r snapshot.Request) (*pass, error) {
	settings := s.readSettings(ctx)
	p, walkErr := s.walkAll(ctx, r)
	out, err := settings()
	if err := errors.Join(walkErr, err); err != nil {
		return nil, err
	}
	p.outside = out
	newModes := s.table.setModes(out.modes)
	if p.newRules || newModes || out.rules != s.table.rules {
		s.table.forgetVerdicts()
		s.table.rules = out.rules
		if p, err = s.walkAll(ctx, r); err != nil {
			return nil, err
		}
		p.outside = out
	}
	return p, p.judge()
}

func (s *Scanner) walkAll(ctx context.Context, r snapshot.Request) (*pass, error) {
	p := &pass{s: s, ctx: ctx, began: s.now().UnixNano(), limits: r.Limits, include: r.Include}
	p.kept.usual = s.table.usual
	return p, p.walk([]*node{s.table.root})
}

// forgetVerdicts makes git judge every untracked path again.
func (t *table) forgetVerdicts() {
	t.root.each(func(_ *node, e *entry) { e.clear(fJudged | fIgnored) })
}

// setModes takes note of the settings that say what a file on disk means. It
// tells whether they are others than before; then every file is looked at again.
func (t *table) setModes(modes digest) bool {
	old := t.modes
	t.modes = modes
	if old == modes || old == (digest{}) {
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
	s.table.index, s.table.staged = key, staged
	if young || broken {
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

// outside is what lives outside the tree and has a say in what is in it.
type outside struct {
	rules    digest // decides about ignored files
	modes    digest // decides about what is stored of a file
	content  snapshot.Rules
	fileMode bool // core.fileMode

	autocrlf   bool // core.autocrlf may have a say
	filters    git.Filters
	lfsStorage string // lfs.storage
	attributes string // core.attributesFile; empty: where git looks by itself
}

// readSettings starts reading what lives outside the tree; the result gives it.
func (s *Scanner) readSettings(ctx context.Context) func() (outside, error) {
	type answer struct {
		out outside
		err error
	}
	done := make(chan answer, 1)
	go func() {
		out, err := s.outsideRules(ctx)
		done <- answer{out, err}
	}()
	return func() (outside, error) {
		a := <-done
		return a.out, a.err
	}
}

func (s *Scanner) outsideRules(ctx context.Context) (out outside, err error) {
	config, err := s.repo.Config(ctx, git.FilterPattern+`|^lfs\.storage$|^core\.(excludesfile|attributesfile|ignorecase|filemode|symlinks|precomposeunicode|autocrlf|eol)$`)
	if err != nil {
		return out, err
	}
	set := config.Map()
	out.lfsStorage = set["lfs.storage"]
	out.filters, out.fileMode = config.Filters(s.trusted), git.Bool(set, "core.filemode", true)
	out.autocrlf = !slices.Contains([]string{"", "false"}, set["core.autocrlf"])
	if at, named := set["core.attributesfile"]; named {
		out.attributes = s.userPath(ctx, at, "core.attributesFile")
	}
	out.modes = sumOf(set, "core.filemode", "core.symlinks", "core.autocrlf", "core.eol")
	if len(out.filters) > 0 {
		out.modes = sha256.Sum256(fmt.Appendf(out.modes[:], "%#v", out.filters.Sorted()))
	}
	h := sha256.New()
	rules := sumOf(set, "core.ignorecase", "core.filemode", "core.symlinks", "core.precomposeunicode")
	h.Write(rules[:])
	excludes, named := set["core.excludesfile"]
	if !named {
		excludes = s.userFile("ignore")
	}
	out.content.IgnoreCase = git.Bool(set, "core.ignorecase", false)
	out.content.Exclude = addRules(h, filepath.Join(s.repo.CommonDir, "info", "exclude"))
	out.content.Global = addRules(h, s.userPath(ctx, excludes, "core.excludesFile"))
	h.Sum(out.rules[:0])
	return out, nil
}

// addRules adds the ignore file at path to h and returns its content; none where
// it is absent, cannot be read, or has no rule.
func addRules(h io.Writer, path string) []byte {
	data, err := os.ReadFile(path)
	said := data
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		data, said = nil, []byte(err.Error())
	}
	fmt.Fprintf(h, "%q %d\n%s", path, len(said), said)
	if !hasRule(data) {
		return nil
	}
	return data
}

// hasRule tells whether an ignore file has more than comments and empty lines:
// git gives every new repository one that has not.
func hasRule(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}

func sumOf(set map[string]string, keys ...string) (sum digest) {
	h := sha256.New()
	for _, k := range keys {
		v, there := set[k]
		fmt.Fprintf(h, "%s=%t %q\n", k, there, v)
	}
	h.Sum(sum[:0])
	return sum
}

// userFile is where git looks for a file of the user's that no setting names.
func (s *Scanner) userFile(name string) string {
	if x := s.env("XDG_CONFIG_HOME"); x != "" {
		return filepath.Join(x, "git", name)
	}
	return filepath.Join(s.env("HOME"), ".config", "git", name)
}

// userPath is the file that a setting means. Git knows whose home "~name" is,
// and where "%(prefix)" lies.
func (s *Scanner) userPath(ctx context.Context, path, setting string) string {
	if strings.HasPrefix(path, "~") || strings.HasPrefix(path, "%") {
		if at, err := s.repo.PathSetting(ctx, setting); err == nil {
			path = at
		}
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(s.repo.Worktree, path)
	}
	return path
}

func (s *Scanner) abs(path string) string {
	if path == "" {
		return s.repo.Worktree
	}
	return s.repo.Worktree + "/" + path
}
