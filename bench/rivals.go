package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/turnback/turnback/checkpoint"
)

// The keys of what is timed.
const (
	keyStatus   = "status"
	keyA        = "A"
	keyDone     = "done"
	keyAlone    = "alone"
	keyRefs     = "for-each-ref"
	keyList     = "list"
	keyReadTree = "read-tree"
	keyRestore  = "restore"
	keyBefore   = "restore: before"
	keyWrite    = "restore: write"
	keyAfter    = "restore: after"
	keyHook     = "hook"
	keyGit      = "git"
	keyVersion  = "version"
)

// rival takes one sample: it brings the files into the state that it starts
// from, and times its part.
type rival func(ctx context.Context, f *figures) error

// rivals prepares the repository and gives what is measured there.
func (s *site) rivals(ctx context.Context) ([]rival, error) {
	if err := s.world.start(ctx); err != nil {
		return nil, err
	}
	for i := range listLength {
		if _, err := s.world.in(ctx, windowListed, "checkpoint", "save", "-m", fmt.Sprintf("Label of checkpoint %d", i+1)); err != nil {
			return nil, err
		}
	}
	if err := s.prepareRestores(ctx); err != nil {
		return nil, err
	}
	shown, err := s.world.newest(ctx, windowListed)
	if err != nil {
		return nil, err
	}
	return []rival{
		s.sampleStatus, s.sampleA, s.turn, s.sampleAlone,
		s.sampleList, refsOf(shown).sample(s),
		s.sampleRestore, s.sampleReadTree, s.sampleLibrary,
		s.sampleHook, s.sampleStart,
	}, nil
}

func (s *site) sampleStatus(ctx context.Context, f *figures) error {
	status := func() error {
		_, err := s.repo.git.out(ctx, "status", "--porcelain")
		return err
	}
	return s.afterEdit(ctx, f, keyStatus, status)
}

func (s *site) sampleA(ctx context.Context, f *figures) error {
	return s.afterEdit(ctx, f, keyA, func() error { return s.a(ctx) })
}

func (s *site) sampleAlone(ctx context.Context, f *figures) error {
	return s.afterEdit(ctx, f, keyAlone, func() error { return s.saveAlone(ctx) })
}

// afterEdit does something twice: to know the files as they are, and, timed,
// after an edit.
func (s *site) afterEdit(ctx context.Context, f *figures, key string, do func() error) error {
	if err := errors.Join(s.forget(), do(), s.edit(ctx)); err != nil {
		return err
	}
	return f.time(key, do)
}

// turn is a turn that edits; its end is timed where f is not nil.
func (s *site) turn(ctx context.Context, f *figures) error {
	if err := s.forget(); err != nil {
		return err
	}
	prompt := fmt.Sprintf("Edit number %d", s.edits+1)
	if _, err := s.world.in(ctx, windowTurns, "set-agent-state", "working", "--prompt", prompt); err != nil {
		return err
	}
	if err := errors.Join(s.world.rest(ctx), s.edit(ctx)); err != nil {
		return err
	}
	var out []byte
	err := f.time(keyDone, func() (err error) {
		out, err = s.world.in(ctx, windowTurns, "set-agent-state", "done")
		return err
	})
	switch {
	case err != nil:
		return err
	case bytes.Equal(out, []byte("still saving\n")):
		f.letGo(keyDone)
	case !bytes.HasPrefix(out, []byte("checkpoint ")) || !bytes.HasSuffix(out, []byte(" saved\n")):
		return fmt.Errorf("set-agent-state done saved nothing: %s", out)
	}
	return s.world.rest(ctx)
}

func (s *site) saveAlone(ctx context.Context) error {
	_, err := s.world.solo.run(ctx, about(windowAlone, []string{"checkpoint", "save", "-m", "Alone"})...)
	return err
}

func (s *site) sampleList(ctx context.Context, f *figures) error {
	var out []byte
	err := f.time(keyList, func() (err error) {
		out, err = s.world.in(ctx, windowListed, "checkpoint", "list")
		return err
	})
	if lines := bytes.Count(out, []byte("\n")); err == nil && lines != listLength+2 {
		return fmt.Errorf("the list has %d lines, not a title, a heading and %d checkpoints", lines, listLength)
	}
	return err
}

// refsOf lists the refs beside that of a checkpoint, as cheaply as git can.
type refsOf listed

func (r refsOf) sample(s *site) rival {
	return func(ctx context.Context, f *figures) error {
		var out string
		err := f.time(keyRefs, func() (err error) {
			out, err = s.repo.git.out(ctx, "for-each-ref",
				"--format=%(objectname) %(refname) %(subject) %(trailers:key=Turnback-Turn,valueonly=true,separator=%2C)",
				r.Ref[:strings.LastIndexByte(r.Ref, '/')+1])
			return err
		})
		if lines := strings.Count(out, "\n") + 1; err == nil && lines != listLength {
			return fmt.Errorf("for-each-ref lists %d refs, not %d", lines, listLength)
		}
		return err
	}
}

func (s *site) sampleHook(ctx context.Context, f *figures) error {
	if err := s.world.hook(ctx, "UserPromptSubmit", map[string]any{"prompt": "Read a file"}); err != nil {
		return err
	}
	if err := s.world.rest(ctx); err != nil {
		return err
	}
	tool := map[string]any{
		"tool_name": "Read", "tool_input": map[string]any{"file_path": s.repo.path(s.restored())},
		"tool_response": map[string]any{"type": "text"},
	}
	err := f.time(keyHook, func() error { return s.world.hook(ctx, "PostToolUse", tool) })
	return errors.Join(err, s.world.hook(ctx, "Stop", nil), s.world.rest(ctx))
}

// sampleStart times programs that do nothing but start.
func (s *site) sampleStart(ctx context.Context, f *figures) error {
	err := f.time(keyGit, func() error {
		_, err := s.repo.git.out(ctx, "--version")
		return err
	})
	return errors.Join(err, f.time(keyVersion, func() error {
		_, err := s.world.call(ctx, "version")
		return err
	}))
}

// prepareRestores saves what the restores go back to, once by the daemon and
// once by the library.
func (s *site) prepareRestores(ctx context.Context) error {
	var err error
	if s.target, err = os.ReadFile(s.repo.path(s.restored())); err != nil {
		return err
	}
	if _, err := s.world.in(ctx, windowRestore, "checkpoint", "save", "-m", "To go back to"); err != nil {
		return err
	}
	s.store, err = checkpoint.Open(ctx, checkpoint.Options{Dir: s.repo.root, Env: s.world.with.env})
	if err != nil {
		return err
	}
	_, err = s.saveByLibrary(ctx)
	return err
}

// libraryPane owns the checkpoints that are taken without the program.
func libraryPane() checkpoint.Pane {
	return checkpoint.Pane{ID: "bench-library", Window: "library", Session: session}
}

func (s *site) saveByLibrary(ctx context.Context) (checkpoint.SaveResult, error) {
	return s.store.Save(ctx, checkpoint.SaveRequest{
		Kind: checkpoint.KindManual, Pane: libraryPane(), State: "idle", Label: "By the library", Always: true,
	})
}

// sampleRestore times the whole command that puts one file back.
func (s *site) sampleRestore(ctx context.Context, f *figures) error {
	if _, err := s.world.in(ctx, windowRestore, "checkpoint", "save", "-m", "Before the edit"); err != nil {
		return err
	}
	if err := errors.Join(s.rewrite(s.restored()), pause(ctx, breath)); err != nil {
		return err
	}
	err := f.time(keyRestore, func() error {
		_, err := s.world.in(ctx, windowRestore, "checkpoint", "restore", "1", "--path", s.restored())
		return err
	})
	return errors.Join(err, s.isBack("checkpoint restore"))
}

// sampleLibrary takes a restore apart: the look with the safety checkpoint, the
// writing of the file, and the check afterwards.
func (s *site) sampleLibrary(ctx context.Context, f *figures) error {
	if _, err := s.saveByLibrary(ctx); err != nil {
		return err
	}
	if err := errors.Join(s.rewrite(s.restored()), pause(ctx, breath)); err != nil {
		return err
	}
	var first, last time.Time
	began := time.Now()
	_, err := s.store.Restore(ctx, checkpoint.RestoreRequest{
		Pane: libraryPane(), N: 1, Paths: []string{s.restored()}, State: "idle",
		Step: func(string) error {
			last = time.Now()
			if first.IsZero() {
				first = last
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	f.add(keyBefore, first.Sub(began))
	f.add(keyWrite, last.Sub(first))
	f.add(keyAfter, time.Since(last))
	return s.isBack("the library's restore")
}

// sampleReadTree times git's own way to put one file back: an index that holds
// the files as they are, and a read-tree of the tree that is wanted.
func (s *site) sampleReadTree(ctx context.Context, f *figures) error {
	index, err := s.copyIndex()
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(index) }()
	g := s.repo.git.index(index)
	if _, err := g.out(ctx, "add", "-A"); err != nil {
		return err
	}
	target, err := g.out(ctx, "write-tree")
	if err != nil {
		return err
	}
	if err := s.rewrite(s.restored()); err != nil {
		return err
	}
	if _, err := g.out(ctx, "add", "-A"); err != nil {
		return err
	}
	if err := pause(ctx, breath); err != nil {
		return err
	}
	err = f.time(keyReadTree, func() error {
		_, err := g.out(ctx, "read-tree", "-m", "-u", target)
		return err
	})
	return errors.Join(err, s.isBack("read-tree"))
}

// isBack makes sure that the restored file is what it was.
func (s *site) isBack(how string) error {
	now, err := os.ReadFile(s.repo.path(s.restored()))
	if err == nil && !bytes.Equal(now, s.target) {
		err = fmt.Errorf("%s did not put %s back", how, s.restored())
	}
	return err
}
