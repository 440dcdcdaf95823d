package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tools are the programs that are measured.
type tools struct {
	git      string // absolute
	turnback string // absolute
	goTool   string
	path     string // PATH for every child
}

// programs finds git and go, and builds turnback into dir.
func programs(ctx context.Context, o options, environ []string, dir string, tell func(string, ...any)) (tools, error) {
	var p tools
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			p.path = value
		}
	}
	var err error
	if p.git, err = exec.LookPath("git"); err != nil {
		return p, err
	}
	if p.goTool, err = exec.LookPath("go"); err != nil {
		return p, err
	}
	if o.program != "" {
		p.turnback, err = filepath.Abs(o.program)
		return p, err
	}
	p.turnback = filepath.Join(dir, "turnback")
	tell("building turnback")
	// As README has it built: without C, its process starts sooner.
	build := exec.CommandContext(ctx, p.goTool, "build", "-ldflags=-s", "-o", p.turnback, "github.com/turnback/turnback/cmd/turnback")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return p, fmt.Errorf("build turnback: %w\n%s", err, out)
	}
	return p, nil
}

// child is a process to be started, always in a session of its own: where the
// bench has a terminal, its children have none.
type child struct {
	program string
	dir     string
	env     []string
	stdin   []byte
}

// run waits for the process and gives what it printed to standard output. What
// it printed to standard error is in the error.
func (c child) run(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ownSession(cmd)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s%s", filepath.Base(c.program), strings.Join(args, " "), err, stderr.Bytes(), stdout.Bytes())
	}
	return stdout.Bytes(), nil
}

// git runs git in a repository, with an environment in which no configuration
// but the repository's holds.
type git struct{ child }

func (p tools) gitIn(root string) git {
	return git{child{program: p.git, dir: root, env: []string{
		"PATH=" + p.path, "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Bench", "GIT_AUTHOR_EMAIL=bench@example.com",
		"GIT_COMMITTER_NAME=Bench", "GIT_COMMITTER_EMAIL=bench@example.com",
	}}}
}

// index is g with another index than the user's.
func (g git) index(path string) git {
	g.env = append(g.env[:len(g.env):len(g.env)], "GIT_INDEX_FILE="+path)
	return g
}

// in is g with something to read.
func (g git) in(stdin []byte) git {
	g.stdin = stdin
	return g
}

// out runs git and gives its output without the line end.
func (g git) out(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, args...)
	return trimmed(out), err
}

// feed runs git with what write writes as its input.
func (g git) feed(ctx context.Context, write func(*importer) error, args ...string) error {
	cmd := exec.CommandContext(ctx, g.program, args...)
	cmd.Dir, cmd.Env = g.dir, g.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	ownSession(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = write(&importer{bufio.NewWriterSize(stdin, 1<<20)})
	if err = errors.Join(err, stdin.Close(), cmd.Wait()); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return nil
}
