package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/filtered"
	"github.com/turnback/turnback/checkpoint/lfs"
	"github.com/turnback/turnback/checkpoint/plan"
	"github.com/turnback/turnback/checkpoint/tidy"
	"github.com/turnback/turnback/checkpoint/trees"
	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
	"github.com/turnback/turnback/internal/snapshot/scan"
)

// Options say which work tree a Store is for and how it saves.
type Options struct {
	Dir    string   // a directory of the work tree
	Env    []string // the environment, as os.Environ gives it; git gets a part of it
	Git    *git.Git // a git found before; nil: look for one in Env
	Limits func() Limits
	Now    func() time.Time // nil: time.Now
	// AllowHome allows a work tree at the home directory or at the root of the
	// file system.
	AllowHome bool
	// Trust remembers which programs of a repository's own configuration may run;
	// nil: only those of the system's and the user's configuration do.
	Trust TrustBook
	// Gone looks which panes nothing works in any more, of the repository with this
	// git directory; nil: that is not known, so none is gone. It may be called from
	// any goroutine.
	Gone func(commonDir string) (gone func(pane string) bool)
}

// Limits bound what is saved and kept.
type Limits struct {
	Keep            int   // turns per pane
	MaxUntracked    int64 // bytes of one untracked file; negative: no limit
	MaxNewUntracked int64 // bytes of all new untracked files of one save; negative: no limit
	// GoneFor is how long a pane may be gone before only its newest turn is kept;
	// 0: however long.
	GoneFor time.Duration
}

// DefaultLimits are the limits without a configuration.
func DefaultLimits() Limits {
	return Limits{Keep: 50, MaxUntracked: 50_000_000, MaxNewUntracked: 500_000_000, GoneFor: 30 * 24 * time.Hour}
}

// Store holds the checkpoints of one work tree.
type Store struct {
	options Options
	repo    *git.Repo
	dir     string // <common git dir>/turnback/trees/<name>
	limits  func() Limits
	now     func() time.Time
	maker   snapshot.Maker
	table   *scan.Scanner
	planner plan.Planner
	trust   TrustBook // may be nil

	pointers lfs.Finder
	content  filtered.Maker
	gone     func(commonDir string) func(pane string) bool // may be nil
	due      atomic.Bool                                   // a save found something past the limits
	tending  tidy.Way

	lastBeside writtenBeside // under the lock of the tree
	rehearses  bool          // nothing that it writes stays

	mu    sync.Mutex
	empty string // the empty tree's id, once asked for
}

// Open finds the work tree that o.Dir is in. It fails with NotRepo outside of
// one, and for a work tree at the home directory or the root of the file system
// unless that is allowed.
func Open(ctx context.Context, o Options) (*Store, error) {
	g := o.Git
	if g == nil {
		var err error
		if g, err = git.Find(ctx, git.FindOptions{Env: o.Env}); err != nil {
			return nil, &Error{Code: GitFailed, Message: err.Error(), Detail: "install git, or name it in the config: git = \"/path/to/git\"", Err: err}
		}
	}
	repo, err := g.Open(ctx, o.Dir)
	if err != nil {
		return nil, fail.From(err)
	}
	if err := checkRoot(repo.Worktree, envOf(o.Env, "HOME"), o.AllowHome); err != nil {
		return nil, err
	}
	s := newStore(repo, o)
	return s, trees.CheckOwn(repo.CommonDir, s.dir)
}

func newStore(repo *git.Repo, o Options) *Store {
	s := &Store{options: o, repo: repo, limits: o.Limits, now: o.Now, gone: o.Gone, dir: treeDir(repo)}
	if s.limits == nil {
		s.limits = DefaultLimits
	}
	if s.now == nil {
		s.now = time.Now
	}
	s.trust, s.pointers.Repo = o.Trust, repo
	s.content = filtered.Maker{Repo: repo, Dir: s.dir, Trusted: s.trusted}
	s.table = scan.New(scan.Options{
		Repo: repo, Dir: s.dir, Now: s.now, Env: func(name string) string { return envOf(o.Env, name) }, Trusted: s.trusted,
	})
	s.maker = s.table
	s.planner = plan.Planner{Repo: repo, Dir: s.dir, Trusted: s.trusted}
	return s
}

// rehearse runs f, which writes no ref and no file of the work tree, with a store of
// the same work tree. What f writes to the repository goes with it.
func (s *Store) rehearse(f func(*Store) (RestoreResult, error)) (RestoreResult, error) {
	_ = s.table.Persist() // what is known of the files is of use there too
	s.tending.Clear()
	repo, end, err := s.repo.Rehearse()
	if err != nil {
		return RestoreResult{}, fail.From(err)
	}
	d := newStore(repo, s.options)
	d.rehearses = true
	res, err := f(d)
	return res, fail.From(errors.Join(err, end()))
}

// checkRoot refuses a work tree that is somebody's whole home.
func checkRoot(root, home string, allow bool) error {
	if allow {
		return nil
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	if root != home && root != "/" {
		return nil
	}
	return &Error{
		Code: NotRepo, Message: fmt.Sprintf("%s is a home directory or the root of the file system: no checkpoints are taken there", root),
		Detail: "set allow_home = true under [agents.checkpoints] in the config to take them all the same",
	}
}

// treeDir is the folder of our own for a work tree; its name is that of the
// work tree's administrative folder, which is unique in the repository.
func treeDir(repo *git.Repo) string {
	name := "main"
	if repo.GitDir != repo.CommonDir {
		name = "linked-" + filepath.Base(repo.GitDir)
	}
	return filepath.Join(repo.CommonDir, "turnback", "trees", name)
}

// Worktree is the root of the work tree, symbolic links resolved.
func (s *Store) Worktree() string { return s.repo.Worktree }

// CommonDir is the repository's git directory, shared by all its work trees.
func (s *Store) CommonDir() string { return s.repo.CommonDir }

// Persist writes what the next process can use to be faster. Call it when idle
// and before exit.
func (s *Store) Persist() error { return s.table.Persist() }

// checkThere refuses when the work tree is no longer where it was found.
func (s *Store) checkThere() error {
	if st, err := os.Lstat(s.repo.Worktree); err == nil && st.IsDir() {
		return nil
	}
	return &Error{
		Code: NotRepo, Message: fmt.Sprintf("the work tree %s is gone, or something else stands there", s.repo.Worktree),
		Detail: "its checkpoints stay in the repository; list them with --all from another work tree of it",
	}
}

// locked runs f while no other process or goroutine works on this tree.
func (s *Store) locked(ctx context.Context, f func() error) error {
	if err := s.checkThere(); err != nil {
		return err
	}
	if err := trees.CheckOwn(s.repo.CommonDir, s.dir); err != nil {
		return err
	}
	s.tending.Clear()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fail.From(fmt.Errorf("make a folder in the git directory: %w", err))
	}
	lock, err := files.WaitLock(ctx, filepath.Join(s.dir, "lock"))
	if err != nil {
		return fail.From(fmt.Errorf("lock the work tree: %w", err))
	}
	s.removeLeftovers()
	defer s.repo.ShareReader()()
	return fail.From(errors.Join(f(), s.repo.Discard(), lock.Unlock()))
}

// removeLeftovers removes folders in which a process that was killed laid out
// files for git or for a restore. The lock is held, so nobody uses them.
func (s *Store) removeLeftovers() {
	list, _ := os.ReadDir(s.dir)
	for _, d := range list {
		if d.IsDir() && (strings.HasPrefix(d.Name(), filtered.Prefix) || strings.HasPrefix(d.Name(), git.LaidOut)) {
			_ = os.RemoveAll(filepath.Join(s.dir, d.Name()))
		}
	}
}

func (s *Store) newestPath() string { return filepath.Join(s.dir, "newest.json") }

// emptyTree is the id of the tree without entries.
func (s *Store) emptyTree(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty == "" {
		var err error
		if s.empty, err = s.repo.EmptyTree(ctx); err != nil {
			return "", err
		}
	}
	return s.empty, nil
}

// checkPane refuses ids that could not be part of a ref's name.
func checkPane(id string) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`).MatchString(id) {
		return &Error{Code: InvalidParams, Message: fmt.Sprintf("%.80q is no id of a pane", id), Detail: "ids are 1 to 64 of a-z, 0-9 and -"}
	}
	return nil
}

func envOf(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}
