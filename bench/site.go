package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/turnback/turnback/checkpoint"
)

const (
	// rotating is how many tracked files are edited in turn, so that git has no
	// more than these to read again.
	rotating = 7
	// breath is between an edit and what is timed.
	breath = 15 * time.Millisecond
	// rivalRef is where A keeps its commits.
	rivalRef = "refs/bench/"
	// listLength is how many checkpoints the list has.
	listLength = 50
)

// site is a repository in use: its files change, and somebody saves them.
type site struct {
	repo    *repo
	world   *world
	random  *rand.Rand
	scratch string // for temporary indexes
	store   *checkpoint.Store
	edits   int
	fresh   string // the untracked file of the last edit, relative to the root
	target  []byte // what restores put back
}

func newSite(r *repo, w *world) *site {
	return &site{repo: r, world: w, random: rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)), scratch: w.dir}
}

// restored is the file that restores put back.
func (s *site) restored() string { return s.repo.edit[0] }

// edit does what a short turn does: one tracked file rewritten, one new file.
func (s *site) edit(ctx context.Context) error {
	s.edits++
	name := s.repo.edit[1+s.edits%(rotating-1)]
	if err := s.rewrite(name); err != nil {
		return err
	}
	s.fresh = filepath.ToSlash(filepath.Join(filepath.Dir(name), fmt.Sprintf("new-%d.txt", s.edits)))
	if err := s.rewrite(s.fresh); err != nil {
		return err
	}
	return pause(ctx, breath)
}

// rewrite gives a file content that it never had.
func (s *site) rewrite(name string) error {
	t := text{random: s.random}
	return os.WriteFile(s.repo.path(name), t.bytes(t.size()), 0o644)
}

// forget takes the last new file away, so that the tree does not grow: A would
// have to read every one of them again each time.
func (s *site) forget() error {
	if s.fresh == "" {
		return nil
	}
	name := s.fresh
	s.fresh = ""
	return os.Remove(s.repo.path(name))
}

// a is "A": what a program would do that has nothing but git: a copy of the
// user's index, and four git processes. The copy is made without a process.
func (s *site) a(ctx context.Context) error {
	index, err := s.copyIndex()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(index) }()
	g := s.repo.git.index(index)
	if _, err := g.out(ctx, "add", "-A"); err != nil {
		return err
	}
	tree, err := g.out(ctx, "write-tree")
	if err != nil {
		return err
	}
	commit, err := g.out(ctx, "commit-tree", tree, "-p", "HEAD", "-m", "A")
	if err != nil {
		return err
	}
	_, err = g.out(ctx, "update-ref", rivalRef+"a", commit)
	return err
}

// copyIndex copies the user's index with its times, as cp -p does: with new
// ones, git would believe notes that are too young.
func (s *site) copyIndex() (path string, err error) {
	from, err := os.Open(filepath.Join(s.repo.root, ".git", "index"))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	info, err := from.Stat()
	if err != nil {
		return "", err
	}
	to, err := os.CreateTemp(s.scratch, "index-")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return "", err
	}
	return to.Name(), os.Chtimes(to.Name(), info.ModTime(), info.ModTime())
}

// oracle makes the tree of the disk from nothing but HEAD.
func (s *site) oracle(ctx context.Context) (string, error) {
	index := filepath.Join(s.scratch, "oracle")
	defer func() { _ = os.Remove(index) }()
	g := s.repo.git.index(index)
	if _, err := g.out(ctx, "read-tree", "HEAD"); err != nil {
		return "", err
	}
	if _, err := g.out(ctx, "add", "-A"); err != nil {
		return "", err
	}
	return g.out(ctx, "write-tree")
}

// compareTrees saves once more in every way and compares the trees with git's
// own: numbers of a save that saves something else are worth nothing. It also
// asks whether the hooks did their work, which they would not tell.
func (s *site) compareTrees(ctx context.Context) error {
	if err := s.turn(ctx, nil); err != nil {
		return err
	}
	byDaemon, err := s.world.newest(ctx, windowTurns)
	if err != nil {
		return err
	}
	if err := s.saveAlone(ctx); err != nil {
		return err
	}
	alone, err := s.world.newest(ctx, windowAlone)
	if err != nil {
		return err
	}
	lib, err := s.saveByLibrary(ctx)
	if err != nil {
		return err
	}
	want, err := s.oracle(ctx)
	if err != nil {
		return err
	}
	err = sameTrees(want, []saved{
		{"set-agent-state done", byDaemon.Tree}, {"checkpoint save without a daemon", alone.Tree}, {"the library", lib.Tree},
	})
	return errors.Join(err, s.world.hookTrouble())
}

// saved is a tree, and what saved it.
type saved struct{ way, tree string }

func sameTrees(want string, list []saved) error {
	var err error
	for _, s := range list {
		if s.tree != want {
			err = errors.Join(err, fmt.Errorf("%s saved the tree %s, git makes %s of the same files", s.way, s.tree, want))
		}
	}
	return err
}
