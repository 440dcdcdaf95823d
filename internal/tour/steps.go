package tour

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/xec"
)

// step is a stretch of the tour between two pauses.
type step struct {
	say string // to the reader, before anything happens
	do  []act
}

// act is one thing that happens in a step. Exactly one field is set.
type act struct {
	run   []string          // a command; "turnback" and "git" stand for the programs in use
	agent string            // what the agent is told: one turn, with the edits that follow
	write map[string]string // files that are written; an empty text removes one
}

const window = "build"

const client = `package client

func Get(url string) (string, error) {
	return fetch(url)
}
`

const clientWithRetry = `package client

func Get(url string) (string, error) {
	return retry(3, func() (string, error) { return fetch(url) })
}
`

const retry = `package client

func retry(times int, call func() (string, error)) (body string, err error) {
	for range times {
		if body, err = call(); err == nil {
			return body, nil
		}
	}
	return "", err
}
`

const retryWithPause = `package client

import "time"

func retry(times int, call func() (string, error)) (body string, err error) {
	for i := range times {
		if body, err = call(); err == nil {
			return body, nil
		}
		time.Sleep(pause << i)
	}
	return "", err
}
`

func steps() []step {
	return []step{
		{
			say: "A scratch repository with one commit.",
			do: []act{
				{write: map[string]string{"client.go": client, "README.md": "# api\n"}},
				{run: []string{"git", "init", "--quiet", "--initial-branch=main"}},
				{run: []string{"git", "add", "."}},
				{run: []string{
					"git", "-c", "user.name=You", "-c", "user.email=you@example.com",
					"commit", "--quiet", "--message", "First version",
				}},
			},
		},
		{
			say: "An agent takes three turns in the window " + window + ". Agents with hooks report by themselves\n" +
				"(turnback setup claude); this scripted one says it with a command.",
			do: []act{
				{agent: "Add a retry to the client"},
				{write: map[string]string{"client.go": clientWithRetry, "retry.go": retry}},
				{run: []string{"turnback", "set-agent-state", "done", "-w", window}},
				{agent: "Make the retry wait longer each time"},
				{write: map[string]string{"retry.go": retryWithPause}},
				{run: []string{"turnback", "set-agent-state", "done", "-w", window}},
				{agent: "Clean up"},
				{write: map[string]string{"README.md": "", "retry.go": "", "client.go": "package client\n"}},
				{run: []string{"turnback", "set-agent-state", "done", "-w", window}},
			},
		},
		{
			say: "Each turn was saved as it ended, with files that were never added to git.",
			do:  []act{{run: []string{"turnback", "checkpoint", "list", "-w", window}}},
		},
		{
			say: "What did the second turn change? And how bad was the clean-up?",
			do: []act{
				{run: []string{"turnback", "checkpoint", "diff", "-w", window, "2"}},
				{run: []string{"turnback", "checkpoint", "diff", "-w", window, "3", "--stat"}},
			},
		},
		{
			say: "Put the files back as the first turn left them. What is there now is saved first.",
			do: []act{
				{run: []string{"turnback", "checkpoint", "restore", "-w", window, "1"}},
				{run: []string{"git", "status", "--short"}},
			},
		},
		{
			say: "A restore can be taken back like everything else: checkpoint 4 is what was there before it.",
			do:  []act{{run: []string{"turnback", "checkpoint", "restore", "-w", window, "4"}}},
		},
		{
			say: "Only the last turn was wrong, so take back that one. retry.go, which git never had, returns too.",
			do: []act{
				{run: []string{"turnback", "undo", "-w", window}},
				{run: []string{"git", "status", "--short"}},
				{run: []string{"turnback", "checkpoint", "list", "-w", window}},
			},
		},
		{
			say: "Your index, HEAD and branches were never touched. That was it; the scratch repository and\n" +
				"its daemon are going away. To have Claude Code save its turns, run: turnback setup claude",
		},
	}
}

func (g *guide) take(ctx context.Context, s step) error {
	if _, err := fmt.Fprintf(g.Out, "\n%s\n\n", g.style("1;36", s.say)); err != nil {
		return err
	}
	for _, a := range s.do {
		if err := g.act(ctx, a); err != nil {
			return err
		}
	}
	if len(s.do) == 0 {
		return nil
	}
	return g.pause(ctx)
}

func (g *guide) act(ctx context.Context, a act) error {
	switch {
	case a.agent != "":
		return g.show(ctx, []string{"turnback", "set-agent-state", "working", "-w", window, "--prompt", a.agent})
	case a.write != nil:
		return g.edit(a.write)
	default:
		return g.show(ctx, a.run)
	}
}

// show prints a command as a person would type it, and runs it.
func (g *guide) show(ctx context.Context, args []string) error {
	words := make([]string, 0, len(args))
	for _, w := range args {
		if strings.ContainsAny(w, " ") {
			w = `"` + w + `"`
		}
		words = append(words, w)
	}
	line := strings.Join(words, " ")
	if _, err := fmt.Fprintln(g.Out, g.style("1", "$ "+line)); err != nil {
		return err
	}
	path := g.Git
	if args[0] == "turnback" {
		path = g.Program
	}
	cmd := xec.Command{Path: path, Args: args[1:], Dir: g.repo, Env: g.env, Stdout: g.Out}
	if err := xec.Foreground(ctx, cmd, g.Err); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// A command fails too when the reader of its output has gone: the tour's
		// own output tells.
		if _, unread := fmt.Fprintln(g.Out); unread != nil {
			return unread
		}
		return fmt.Errorf("the tour stopped at %q: %w", line, err)
	}
	return nil
}

// edit changes files of the scratch repository, as an agent's tools do.
func (g *guide) edit(files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path, did := filepath.Join(g.repo, name), "writes"
		var err error
		if files[name] == "" {
			did, err = "removes", os.Remove(path)
		} else {
			err = os.WriteFile(path, []byte(files[name]), 0o644)
		}
		if err != nil {
			return fmt.Errorf("edit the scratch repository: %w", err)
		}
		if _, err := fmt.Fprintln(g.Out, g.style("2", "  ("+did+" "+name+")")); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for a line of input. The reader goroutine outlives the wait only
// when ctx ends it: a read from a terminal cannot be called off, and the
// process is about to end then.
func (g *guide) pause(ctx context.Context) error {
	if !g.Pause {
		return ctx.Err()
	}
	if _, err := fmt.Fprint(g.Out, g.style("2", "\n[Enter goes on, Ctrl-C ends the tour]")); err != nil {
		return err
	}
	read := make(chan error, 1)
	go func() {
		_, err := bufio.NewReaderSize(oneByte{g.In}, 16).ReadString('\n')
		read <- err
	}()
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(g.Out)
		return ctx.Err()
	case err := <-read:
		if errors.Is(err, io.EOF) {
			g.Pause = false // nobody is there to press Enter: straight through
			return nil
		}
		return err
	}
}

// oneByte keeps a buffered reader from taking more than the line it is after.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) {
	if len(p) > 1 {
		p = p[:1]
	}
	return o.r.Read(p)
}

func (g *guide) style(sgr, text string) string {
	if !g.Colour {
		return text
	}
	return "\x1b[" + sgr + "m" + text + "\x1b[m"
}
