package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/terminal"
	"github.com/turnback/turnback/internal/trust"
	"github.com/turnback/turnback/internal/turns"
)

// repos finds git once, and holds a store for each work tree that was used. It
// may be used by several goroutines at once.
type repos struct {
	environ []string
	config  func() config.Config
	now     func() time.Time
	trust   trust.Book // of the person whose environment it is
	// linked is told, without waiting, of turns that were saved with their place in a
	// transcript; nil: nobody asks.
	linked func(checkpoint.SaveRequest, *checkpoint.Store)

	gitMu sync.Mutex // held while git is looked for
	git   *git.Git   // nil: none was found yet; it is looked for again at each use

	mu     sync.Mutex
	stores map[string]openStore // by the root of the work tree
}

// openStore is a store with what tells whether it is still the right one.
type openStore struct {
	*checkpoint.Store
	allowHome bool
	marks     []fs.FileInfo // see marksOf
}

func newRepos(environ []string, settings func() config.Config, now func() time.Time) *repos {
	r := &repos{environ: environ, config: settings, now: now, stores: map[string]openStore{}}
	if dir, err := StateDir(Getenv(environ)); err == nil {
		r.trust = trust.Open(filepath.Join(dir, "trust"))
	}
	return r
}

// program is the git that is used: the one found first, as long as this process
// lives.
func (r *repos) program(ctx context.Context) (*git.Git, error) {
	r.gitMu.Lock()
	defer r.gitMu.Unlock()
	if r.git != nil {
		return r.git, nil
	}
	g, err := git.Find(ctx, git.FindOptions{Env: r.environ, Configured: r.config().Git})
	if err != nil {
		return nil, err
	}
	r.git = g
	return g, nil
}

// info says which git is used, and looks for one where there was none.
func (r *repos) info(ctx context.Context) api.GitInfo {
	g, err := r.program(ctx)
	if err != nil {
		return api.GitInfo{Error: err.Error()}
	}
	return api.GitInfo{Path: g.Path(), Version: g.Version().Text}
}

// find tells the work tree of a directory. One that no checkpoints are taken of
// is an error as in open.
func (r *repos) find(ctx context.Context, dir string) (turns.WorktreeInfo, error) {
	g, err := r.program(ctx)
	if err != nil {
		return turns.WorktreeInfo{}, gitMissing(err)
	}
	repo, err := g.Open(ctx, dir)
	if err != nil {
		if errors.Is(err, git.ErrNotRepo) {
			return turns.WorktreeInfo{}, api.Errorf(api.CodeNotRepo, "%v", err).WithHint(api.Hint{
				Detail: "checkpoints need a git work tree; run git init there, or go to one",
			})
		}
		if _, coded := r.open(ctx, dir); coded != nil {
			err = coded
		}
		return turns.WorktreeInfo{}, err
	}
	if _, err := r.open(ctx, repo.Worktree); err != nil {
		return turns.WorktreeInfo{}, err
	}
	w := turns.WorktreeInfo{Root: repo.Worktree, CommonDir: repo.CommonDir, GitDir: repo.GitDir}
	if w.GitDir != w.CommonDir {
		head, err := repo.Head(ctx)
		if err != nil {
			return w, err
		}
		w.Branch = shortBranch(head.Branch)
	}
	return w, nil
}

// open gives the store of the work tree that dir is in. Where there is none, or
// none is allowed, it is a *checkpoint.Error with NotRepo.
func (r *repos) open(ctx context.Context, dir string) (*checkpoint.Store, error) {
	allowHome := r.config().Agents.Checkpoints.AllowHome
	if s, ok := r.known(dir, allowHome); ok {
		return s, nil
	}
	g, err := r.program(ctx)
	if err != nil {
		return nil, gitMissing(err)
	}
	s, err := checkpoint.Open(ctx, checkpoint.Options{
		Dir: dir, Env: r.environ, Git: g, Limits: r.limits, Now: r.now, AllowHome: allowHome, Gone: r.gone, Trust: r.trust,
	})
	if err != nil {
		return nil, err
	}
	// Of two that were opened at once the first stays.
	if first, ok := r.known(s.Worktree(), allowHome); ok {
		return first, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stores[s.Worktree()] = openStore{Store: s, allowHome: allowHome, marks: marksOf(s)}
	return s, nil
}

// known gives the store of the work tree with this root, if it is held and the
// repository is still the one that it was opened for.
func (r *repos) known(root string, allowHome bool) (*checkpoint.Store, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	held, ok := r.stores[root]
	if !ok || held.allowHome != allowHome {
		return nil, false
	}
	now := marksOf(held.Store)
	for i, was := range held.marks {
		if was != nil && (now[i] == nil || !os.SameFile(was, now[i])) {
			delete(r.stores, root)
			return nil, false
		}
	}
	held.marks = now
	r.stores[root] = held
	return held.Store, true
}

// marksOf looks at what changes when a repository is removed and made anew: its
// git directory, and the folder in it that only stores make. Absent is nil.
// Inode numbers are used again at once, so the git directory alone would not
// tell.
func marksOf(s *checkpoint.Store) []fs.FileInfo {
	paths := []string{filepath.Join(s.Worktree(), ".git"), s.CommonDir(), filepath.Join(s.CommonDir(), "turnback", "trees")}
	marks := make([]fs.FileInfo, len(paths))
	for i, path := range paths {
		if info, err := os.Lstat(path); err == nil {
			marks[i] = info
		}
	}
	return marks
}

func (r *repos) limits() checkpoint.Limits {
	c := r.config().Agents.Checkpoints
	return checkpoint.Limits{
		Keep: c.Keep, MaxUntracked: megabytes(c.MaxUntrackedMB), MaxNewUntracked: megabytes(c.MaxNewUntrackedMB),
		GoneFor: r.goneFor(),
	}
}

func (r *repos) goneFor() time.Duration {
	return time.Duration(r.config().Agents.Checkpoints.GoneDays) * 24 * time.Hour
}

// gone looks which panes of a repository nothing works in any more: no daemon has
// a record of it, or it shows no life for as long as a pane may be gone. Where the
// records cannot be read, none is gone.
func (r *repos) gone(commonDir string) func(pane string) bool {
	windows, err := registry.ReadRecords(commonDir)
	if err != nil {
		return nil
	}
	live := map[string]bool{}
	for _, w := range windows {
		works := w.AgentPID != 0 && terminal.ProcessAlive(w.AgentPID, w.AgentStarted)
		live[w.ID] = !w.Gone && (works || r.now().Sub(w.LastActive) <= r.goneFor())
	}
	return func(pane string) bool { return !live[pane] }
}

// tend has every store do what can wait. What is amiss is for the next time to
// show: each store is asked again.
func (r *repos) tend(ctx context.Context) error {
	var all error
	for _, s := range r.held() {
		if err := s.Tend(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) && !checkpoint.HasCode(err, checkpoint.NotRepo) {
			all = errors.Join(all, fmt.Errorf("%s: %w", s.Worktree(), err))
		}
	}
	return all
}

// held gives the stores that are held now.
func (r *repos) held() []openStore {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.stores))
}

// megabytes is n MB in bytes; negative: no limit.
func megabytes(n int64) int64 { return max(n, -1) * 1_000_000 }

// persist has every store write down what makes the next process faster. A
// repository that has gone needs none of it.
func (r *repos) persist() error {
	var all error
	for _, s := range r.held() {
		if err := s.Persist(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, fmt.Errorf("%s: %w", s.Worktree(), err))
		}
	}
	return all
}

func gitMissing(err error) error {
	return api.Errorf(api.CodeGitFailed, "%v", err).
		WithHint(api.Hint{Detail: `install git, or name it in the config: git = "/path/to/git"`})
}

// shortBranch is the name that people use; empty: HEAD is on no branch.
func shortBranch(ref string) string {
	name, _ := strings.CutPrefix(ref, "refs/heads/")
	return name
}

// treeStore is the store of one work tree as package turns uses it: looked up
// anew at each call, since the repository may have been made anew.
type treeStore struct {
	repos *repos
	root  string
}

var _ turns.Store = treeStore{}

func (s treeStore) Begin(ctx context.Context, q checkpoint.BeginRequest) (checkpoint.BeginResult, error) {
	store, err := s.repos.open(ctx, s.root)
	if err != nil {
		return checkpoint.BeginResult{}, err
	}
	return store.Begin(ctx, q)
}

func (s treeStore) Save(ctx context.Context, q checkpoint.SaveRequest) (checkpoint.SaveResult, error) {
	store, err := s.repos.open(ctx, s.root)
	if err != nil {
		return checkpoint.SaveResult{}, err
	}
	result, err := store.Save(ctx, q)
	if err == nil && result.Checkpoint != nil && q.Transcript != "" && s.repos.linked != nil {
		s.repos.linked(q, store)
	}
	return result, err
}

func (s treeStore) NoteNotSaved(ctx context.Context, p checkpoint.Pane, n checkpoint.NotSaved) error {
	store, err := s.repos.open(ctx, s.root)
	if err != nil {
		return err
	}
	return store.NoteNotSaved(ctx, p, n)
}

func (s treeStore) HighestTurn(ctx context.Context, paneID string) (int, error) {
	store, err := s.repos.open(ctx, s.root)
	if err != nil {
		return 0, err
	}
	return store.HighestTurn(ctx, paneID)
}
