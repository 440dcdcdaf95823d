// Package coder is our own agent, `turnback agent`: a small one for the terminal,
// and for scripts, that owns its conversation. It puts together a model, the
// tools, a session file and somebody to talk to.
package coder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/coder/loop"
	"github.com/turnback/turnback/internal/coder/provider"
	"github.com/turnback/turnback/internal/coder/report"
	"github.com/turnback/turnback/internal/coder/tool"
	"github.com/turnback/turnback/internal/coder/ui"
	"github.com/turnback/turnback/internal/config"
)

// Flags are what the person asked for.
type Flags struct {
	Prompt       string // empty: interactive
	Headless     bool   // there is a prompt
	Model        string // PROVIDER/NAME; empty: as the configuration says
	Resume       string // id of a session, or of an entry of one
	Continue     bool   // the newest session of the directory
	Fork         bool   // a copy of that session, which somebody else may have open
	JSON         bool
	Yes          bool // nothing is asked
	Conversation bool // the tools checkpoint and rewind, whatever the configuration says
	RewindFiles  bool
}

// Options are what the agent needs from outside.
type Options struct {
	Flags  Flags
	Config config.Config

	Terminal ui.Terminal // for the person; its In is nil when there is no terminal
	Out, Err io.Writer
	// OutTerminal says that Out is a terminal.
	OutTerminal bool
	Environ     []string
	Getenv      func(string) string
	Dir         string // working directory, absolute
	DataDir     string // of the sessions
	Shell       string
	Now         func() time.Time

	Caller  report.Caller
	Place   api.Place
	PID     int
	Started string

	// Worktree finds the root of the work tree around a directory and how its
	// files are listed; an empty root: there is none.
	Worktree func(ctx context.Context, dir string) (root string, files func(context.Context) ([]string, error))
}

// Run runs the agent until it is done, or the person leaves.
func Run(ctx context.Context, o Options) (err error) {
	if o.Flags.RewindFiles && !o.checkpoints() {
		return api.Errorf(api.CodeInvalidParams, "--rewind-files is about rewinds, and the model has none").WithHint(api.Hint{
			Param: "rewind-files", Detail: "add --conversation, or set conversation.checkpoint.enabled in the configuration",
		})
	}
	m, err := o.models().pick(cmp.Or(o.Flags.Model, o.Config.Agent.Model))
	if err != nil {
		return err
	}
	if err := errors.Join(m.model.Ready(), o.somebody()); err != nil {
		return told(err)
	}
	s, reason, unread, err := o.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if m, err = o.modelsOf(s).pick(m.name); err != nil {
		return err
	}
	written := &output{Writer: o.Out}
	o.Out = written
	face, ask, give, err := o.face(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, give()) }()
	for _, problem := range unread {
		face.Note("Passed over: " + problem)
	}
	root, files := o.Worktree(ctx, o.Dir)
	dir, err := filepath.EvalSymlinks(o.Dir)
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	d := &report.Daemon{
		Caller: o.Caller, Place: o.Place, SessionID: s.ID(), Transcript: s.Path(), Headless: o.Flags.Headless, PID: o.PID, Started: o.Started, Note: face.Note,
	}
	permits := &permits{all: o.Flags.Yes, ask: ask, waits: d.Waits}
	bench := &tool.Bench{
		Root: cmp.Or(root, dir), Dir: dir, Shell: o.Shell, Environ: o.models().withoutKeys(o.Environ),
		Files: files, Permit: permits.permit, Shown: tool.NewShown(),
	}
	a := loop.New(loop.Options{
		Model: m.model, Session: s, Bench: bench, Face: face, Report: d, Files: d, Now: o.Now,
		System: systemPrompt(bench, o.checkpoints()), Window: m.window,
		Checkpoints: o.checkpoints(), KeepOnAbort: o.Config.Conversation.Checkpoint.KeepOnAbort, RewindFiles: o.Flags.RewindFiles,
	})
	d.Begin(ctx, reason)
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		d.End(last)
	}()
	if o.Flags.Headless {
		return cmp.Or(o.once(ctx, a, s, face), written.failure())
	}
	return o.interactive(ctx, a, s, face.(*ui.Console))
}

// output remembers that something could not be written: the turn goes on all the
// same, for what it does is saved.
type output struct {
	io.Writer
	err error
}

func (w *output) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.err = cmp.Or(w.err, err)
	return n, err
}

func (w *output) failure() error {
	if w.err == nil {
		return nil
	}
	return fmt.Errorf("write the answer: %w", w.err)
}

// face is what the agent talks through, who can be asked (nil: nobody), and what
// gives the terminal back.
func (o Options) face(ctx context.Context) (f ui.Face, ask asker, give func() error, err error) {
	nothing := func() error { return nil }
	switch {
	case o.Flags.Headless && o.Flags.JSON:
		return ui.JSON{Out: o.Out}, nil, nothing, nil
	case o.Flags.Headless:
		return &ui.Lines{Text: o.Out, About: o.Err, Terminal: o.OutTerminal}, nil, nothing, nil
	}
	c, err := ui.NewConsole(ctx, o.Terminal)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("take over the terminal: %w", err)
	}
	return c, c.Ask, c.Close, nil
}

// somebody says that there is nobody to talk to.
func (o Options) somebody() error {
	if o.Flags.Headless || o.Terminal.In != nil {
		return nil
	}
	return api.Errorf(api.CodeInvalidParams, "there is no terminal to talk in").
		WithHint(api.Hint{Param: "prompt", Detail: "give a prompt with -p"})
}

func (o Options) checkpoints() bool {
	return o.Flags.Conversation || o.Config.Conversation.Checkpoint.Enabled
}

// once runs one turn.
func (o Options) once(ctx context.Context, a *loop.Agent, s *session.Session, face ui.Face) error {
	err := a.Turn(ctx, o.Flags.Prompt)
	face.Ended(s.ID(), err == nil)
	if errors.Is(err, loop.ErrAborted) {
		return context.Canceled
	}
	if provider.IsKind(err, provider.KindTooLong) {
		return api.Errorf(api.CodeModelFailed, "%v", err).WithHint(api.Hint{
			Detail:  "it could not be made shorter by a summary either: go back to an earlier place by --resume SESSION/ENTRY, start anew without --continue or --resume, or name a model that takes more by --model",
			Command: "turnback conversation show " + s.ID(),
		})
	}
	return told(err)
}

// told is an error as the person gets it, with what to do.
func told(err error) error {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok {
		return err
	}
	code := api.CodeModelFailed
	if e.Kind == provider.KindNoKey {
		code = api.CodeNoKey
	}
	out := api.Errorf(code, "%s", e.Text)
	if e.Hint != "" {
		return out.WithHint(api.Hint{Detail: e.Hint})
	}
	return out
}

// FindShell is the shell for commands: bash where it is, else sh.
func FindShell() string {
	for _, path := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return "/bin/sh"
}
