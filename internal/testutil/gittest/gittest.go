// Package gittest makes real git repositories for tests.
//
// Every repository lives in a directory of its own below t.TempDir, with its
// own HOME, no system configuration, a fixed author and a fixed clock, so that
// hashes can be golden and nothing of the person who runs the tests is read or
// touched. A helper that cannot do its work ends the test.
//
// [Repo.Fingerprint] and [Tree] are for proofs: take one before and one after,
// and compare them with [cmp.Diff]; no difference means that nothing of the
// user's was touched.
package gittest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Date is the author and committer date of every commit, until
// [Repo.SetDate] changes it.
const Date = "2026-01-02T03:04:05Z"

// Name and Email are the author and committer of every commit.
const (
	Name  = "Test Author"
	Email = "author@example.com"
)

// globalConfig is the ~/.gitconfig of a test home. Automatic gc would write
// into a directory that the test is removing.
const globalConfig = `[init]
	defaultBranch = main
[gc]
	auto = 0
[maintenance]
	auto = false
[protocol "file"]
	allow = always
[advice]
	detachedHead = false
	addEmbeddedRepo = false
`

// Repo is a work tree and the home it is used from.
type Repo struct {
	t testing.TB

	// Root is the absolute path of the work tree, without symbolic links. For
	// a bare repository it is the git directory.
	Root string

	// Home is the HOME of every git process. Linked work trees and clones
	// share it.
	Home string

	date string
}

// New makes a repository without commits, on the branch main. The flags go to
// git init as they are: "--bare", "--object-format=sha256".
func New(t testing.TB, flags ...string) *Repo {
	t.Helper()
	base := tempDir(t)
	r := At(t, NewHome(t), filepath.Join(base, "repo"))
	r.mkdir(r.Root)
	r.Git(append([]string{"init", "--quiet"}, flags...)...)
	return r
}

// NewCommitted makes a repository whose first commit holds files, given as
// path and content.
func NewCommitted(t testing.TB, files map[string]string) *Repo {
	t.Helper()
	r := New(t)
	r.WriteAll(files)
	r.Commit("first")
	return r
}

// NewHome makes a home directory with a ~/.gitconfig fit for tests.
func NewHome(t testing.TB) string {
	t.Helper()
	home := filepath.Join(tempDir(t), "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatalf("make home: %v", err)
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(globalConfig), 0o644); err != nil {
		t.Fatalf("write global git config: %v", err)
	}
	return home
}

// At is the Repo of a directory that exists already or will be made.
func At(t testing.TB, home, root string) *Repo {
	return &Repo{t: t, Root: root, Home: home, date: Date}
}

// tempDir is t.TempDir with symbolic links resolved (on macOS the temporary
// directory is one) and with removal that copes with read-only directories.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatalf("resolve temporary directory: %v", err)
	}
	t.Cleanup(func() {
		// The walk opens each directory before it reads it. What is missed
		// here is reported by the removal that follows.
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil
			}
			if info, err := d.Info(); err == nil && info.Mode().Perm()&0o700 != 0o700 {
				return os.Chmod(path, 0o755)
			}
			return nil
		})
	})
	return dir
}

// Env is the whole environment for git and for a program under test: it holds
// nothing of the caller's but PATH.
func (r *Repo) Env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + r.Home,
		"LC_ALL=C.UTF-8",
		"TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_EDITOR=true",
		"GIT_PAGER=cat",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(r.Root),
		"GIT_AUTHOR_NAME=" + Name,
		"GIT_AUTHOR_EMAIL=" + Email,
		"GIT_AUTHOR_DATE=" + r.date,
		"GIT_COMMITTER_NAME=" + Name,
		"GIT_COMMITTER_EMAIL=" + Email,
		"GIT_COMMITTER_DATE=" + r.date,
	}
}

// SetDate changes the date of the commits that follow.
func (r *Repo) SetDate(at time.Time) {
	r.date = at.UTC().Format(time.RFC3339)
}

// Git runs git in the work tree and returns its output without the last line
// break.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	return r.GitInput("", args...)
}

// GitInput is [Repo.Git] with something on standard input.
func (r *Repo) GitInput(stdin string, args ...string) string {
	r.t.Helper()
	out, err := r.run(stdin, args)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	return strings.TrimSuffix(out, "\n")
}

// TryGit is [Repo.Git] for a command that may fail. The error holds the exit
// code and what git said; the output is as git wrote it.
func (r *Repo) TryGit(args ...string) (string, error) {
	return r.run("", args)
}

func (r *Repo) run(stdin string, args []string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.Root
	cmd.Env = r.Env()
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// Commit adds everything that is not ignored, commits it (an empty commit is
// fine) and returns the id of the commit.
func (r *Repo) Commit(message string) string {
	r.t.Helper()
	r.Git("add", "--all")
	r.Git("commit", "--quiet", "--allow-empty", "--message", message)
	return r.Git("rev-parse", "HEAD")
}

// AddWorktree makes a linked work tree beside the repository, on a new branch
// of the same name.
func (r *Repo) AddWorktree(name string) *Repo {
	r.t.Helper()
	linked := &Repo{t: r.t, Root: filepath.Join(filepath.Dir(r.Root), name), Home: r.Home, date: r.date}
	r.Git("worktree", "add", "--quiet", "-b", name, linked.Root)
	return linked
}

// AddSubmodule makes a repository with one commit of files and adds it as a
// submodule at path, without committing. It returns the submodule's work tree.
func (r *Repo) AddSubmodule(path string, files map[string]string) *Repo {
	r.t.Helper()
	source := &Repo{t: r.t, Root: filepath.Join(tempDir(r.t), "source"), Home: r.Home, date: r.date}
	r.mkdir(source.Root)
	source.Git("init", "--quiet")
	source.WriteAll(files)
	source.Commit("first")
	r.Git("submodule", "--quiet", "add", source.Root, path)
	return &Repo{t: r.t, Root: r.Path(path), Home: r.Home, date: r.date}
}

// Path is the absolute path of a slash-separated path in the work tree.
func (r *Repo) Path(path string) string {
	return filepath.Join(r.Root, filepath.FromSlash(path))
}

// Write puts content at path, and makes the directories it needs. A file that
// is there already keeps its mode.
func (r *Repo) Write(path, content string) {
	r.t.Helper()
	full := r.Path(path)
	r.mkdir(filepath.Dir(full))
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		r.t.Fatalf("write: %v", err)
	}
}

// WriteAll writes several files, given as path and content.
func (r *Repo) WriteAll(files map[string]string) {
	r.t.Helper()
	for path, content := range files {
		r.Write(path, content)
	}
}

// Read returns the content of a file.
func (r *Repo) Read(path string) string {
	r.t.Helper()
	content, err := os.ReadFile(r.Path(path))
	if err != nil {
		r.t.Fatalf("read: %v", err)
	}
	return string(content)
}

// Exists says whether something, even a dangling link, is at path.
func (r *Repo) Exists(path string) bool {
	r.t.Helper()
	_, err := os.Lstat(r.Path(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		r.t.Fatalf("look: %v", err)
	}
	return err == nil
}

// Chmod sets the mode of a file or directory.
func (r *Repo) Chmod(path string, mode fs.FileMode) {
	r.t.Helper()
	if err := os.Chmod(r.Path(path), mode); err != nil {
		r.t.Fatalf("chmod: %v", err)
	}
}

// Symlink makes a symbolic link at path, replacing a file or link there.
func (r *Repo) Symlink(target, path string) {
	r.t.Helper()
	full := r.Path(path)
	r.mkdir(filepath.Dir(full))
	if err := os.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.t.Fatalf("make room for a link: %v", err)
	}
	if err := os.Symlink(target, full); err != nil {
		r.t.Fatalf("link: %v", err)
	}
}

// Mkdir makes a directory and those above it.
func (r *Repo) Mkdir(path string) {
	r.t.Helper()
	r.mkdir(r.Path(path))
}

// Remove removes a file, or a directory with all that is in it. Something must
// be there.
func (r *Repo) Remove(path string) {
	r.t.Helper()
	if !r.Exists(path) {
		r.t.Fatalf("remove %q: nothing is there", path)
	}
	if err := os.RemoveAll(r.Path(path)); err != nil {
		r.t.Fatalf("remove: %v", err)
	}
}

// Rename moves a file or directory, and makes the directories it needs.
func (r *Repo) Rename(from, to string) {
	r.t.Helper()
	r.mkdir(filepath.Dir(r.Path(to)))
	if err := os.Rename(r.Path(from), r.Path(to)); err != nil {
		r.t.Fatalf("rename: %v", err)
	}
}

func (r *Repo) mkdir(full string) {
	r.t.Helper()
	if err := os.MkdirAll(full, 0o755); err != nil {
		r.t.Fatalf("make directory: %v", err)
	}
}
