package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/files"
)

// generator is the version of what openRepo makes; another one makes it anew.
const generator = 1

const (
	untrackedFiles = 2_000
	untrackedBytes = 100_000
	untrackedDir   = "assets"
)

// repoSpec describes a generated repository.
type repoSpec struct {
	files     int  // tracked
	untracked bool // with untrackedFiles of untrackedBytes as well
}

func (s repoSpec) String() string {
	if s.untracked {
		return fmt.Sprintf("%s files and %s untracked of %d KB", thousands(s.files), thousands(untrackedFiles), untrackedBytes/1000)
	}
	return thousands(s.files) + " files"
}

func (s repoSpec) name() string {
	if s.untracked {
		return fmt.Sprintf("%du", s.files)
	}
	return fmt.Sprint(s.files)
}

// specs are the repositories to measure, smallest first as given; 50,000 files
// also with untracked ones.
func specs(sizes []int) []repoSpec {
	var list []repoSpec
	for _, n := range sizes {
		list = append(list, repoSpec{files: n})
		if n == goalSize {
			list = append(list, repoSpec{files: n, untracked: true})
		}
	}
	return list
}

// repo is a generated repository, ours alone until close.
type repo struct {
	root string
	spec repoSpec
	dirs int      // folders of the work tree, the root among them
	edit []string // some tracked files, relative to the root
	git  git
	lock *files.Lock
}

// openRepo makes the repository unless dir has it from an earlier run, and
// brings it into its first state.
func openRepo(ctx context.Context, p tools, dir string, spec repoSpec, tell func(string, ...any)) (r *repo, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	root = filepath.Join(root, "r"+spec.name())
	lock, err := files.TryLock(root + ".lock")
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, fmt.Errorf("another bench uses %s", root)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Unlock())
		}
	}()
	r = &repo{root: root, spec: spec, git: p.gitIn(root), lock: lock}
	if !r.isMade() {
		tell("%s: making %s", spec, root)
		if err := r.make(ctx); err != nil {
			return nil, fmt.Errorf("make the repository: %w", err)
		}
	}
	if err := r.tidy(ctx); err != nil {
		return nil, err
	}
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	for i := range rotating {
		r.edit = append(r.edit, filePath(i*(spec.files/rotating)))
	}
	r.dirs, err = r.countDirs()
	return r, err
}

func (r *repo) marker() string { return filepath.Join(r.root, ".git", "turnback-bench") }

func (r *repo) markText() string { return fmt.Sprintf("generator %d, %s\n", generator, r.spec) }

func (r *repo) isMade() bool {
	text, err := os.ReadFile(r.marker())
	return err == nil && string(text) == r.markText()
}

func (r *repo) make(ctx context.Context) error {
	if err := os.RemoveAll(r.root); err != nil {
		return err
	}
	if err := os.MkdirAll(r.root, 0o755); err != nil {
		return err
	}
	if _, err := r.git.out(ctx, "init", "-q", "-b", "main"); err != nil {
		return err
	}
	// With a limit of 1 the import stays the one pack that it comes as.
	pack := r.git.feed(ctx, func(w *importer) error { return w.commit(r.spec.files) },
		"-c", "fastimport.unpackLimit=1", "fast-import", "--quiet")
	if pack != nil {
		return pack
	}
	if _, err := r.git.out(ctx, "reset", "-q", "--hard"); err != nil {
		return err
	}
	if err := r.addUntracked(); err != nil {
		return err
	}
	return os.WriteFile(r.marker(), []byte(r.markText()), 0o644)
}

func (r *repo) addUntracked() error {
	if !r.spec.untracked {
		return nil
	}
	text := newText(-1)
	for i := range untrackedFiles {
		path := filepath.Join(r.root, untrackedDir, fmt.Sprintf("%02d", i%50), fmt.Sprintf("asset-%04d.txt", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text.bytes(untrackedBytes), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// tidy takes away what a run has left: edits, new files, refs, objects, our own
// folder in the git directory.
func (r *repo) tidy(ctx context.Context) error {
	clean := []string{"clean", "-fdxq"}
	if r.spec.untracked {
		clean = append(clean, "-e", "/"+untrackedDir)
	}
	for _, args := range [][]string{{"reset", "-q", "--hard"}, clean} {
		if _, err := r.git.out(ctx, args...); err != nil {
			return fmt.Errorf("tidy: %w", err)
		}
	}
	refs, err := r.git.run(ctx, "for-each-ref", "--format=delete %(refname)", "refs/turnback/", rivalRef)
	if err != nil {
		return fmt.Errorf("tidy: %w", err)
	}
	if _, err := r.git.in(refs).out(ctx, "update-ref", "--stdin"); err != nil {
		return fmt.Errorf("tidy: %w", err)
	}
	if err := os.RemoveAll(filepath.Join(r.root, ".git", "turnback")); err != nil {
		return err
	}
	if _, err := r.git.out(ctx, "prune", "--expire=now"); err != nil {
		return fmt.Errorf("tidy: %w", err)
	}
	return r.dropPacks()
}

// dropPacks removes the packs that turnback made: those that are kept.
func (r *repo) dropPacks() error {
	kept, err := filepath.Glob(filepath.Join(r.root, ".git", "objects", "pack", "*.keep"))
	if err != nil {
		return err
	}
	for _, keep := range kept {
		for _, end := range []string{"idx", "pack", "keep"} {
			if err := os.Remove(strings.TrimSuffix(keep, "keep") + end); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle makes the index one that no file is younger than: git and turnback read
// a file again whose times are as young as their notes.
func (r *repo) settle(ctx context.Context) error {
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	_, err := r.git.out(ctx, "update-index", "-q", "--refresh", "--force-write-index")
	return err
}

func (r *repo) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return errors.Join(r.tidy(ctx), r.lock.Unlock())
}

func (r *repo) countDirs() (int, error) {
	n := 0
	err := filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		if d.IsDir() {
			n++
		}
		return nil
	})
	return n, err
}

func (r *repo) path(name string) string { return filepath.Join(r.root, filepath.FromSlash(name)) }

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// thousands writes a number with commas.
func thousands(n int) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// trimmed is the output of a command without the line end.
func trimmed(out []byte) string { return string(bytes.TrimSpace(out)) }
