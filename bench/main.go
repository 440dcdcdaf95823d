// Command bench measures turnback against git's own commands: whole commands,
// process start included, taking turns in one run. README.md says what the rows
// mean. It asserts nothing about speed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	sizes   []int  // files of each repository
	rounds  int    // samples of each row
	dir     string // where generated repositories are kept
	program string // turnback's program; empty: it is built
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	sizes := flags.String("sizes", "5000,50000,300000", "`FILES` of each repository; 50000 is also measured with untracked files")
	flags.IntVar(&o.rounds, "rounds", 11, "`N` samples of each row; 7 to 15 are worth quoting")
	flags.StringVar(&o.dir, "dir", "", "`DIR` that keeps the generated repositories (default: turnback-bench in the user's cache)")
	flags.StringVar(&o.program, "turnback", "", "`PROGRAM` to measure, instead of building this checkout")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.rounds < 1 {
		return o, fmt.Errorf("--rounds is %d, at least 1", o.rounds)
	}
	for word := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < rotating {
			return o, fmt.Errorf("--sizes: %q is no number of files, at least %d", word, rotating)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return o, fmt.Errorf("find the user's cache: %w", err)
		}
		o.dir = filepath.Join(cache, "turnback-bench")
	}
	var err error
	o.dir, err = filepath.Abs(o.dir)
	return o, err
}

// run does the whole job; what it starts and makes is gone when it returns, but
// for the generated repositories.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "tb") // short: a socket's path is limited
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	tell := func(format string, args ...any) { fmt.Fprintf(stderr, format+"\n", args...) }
	p, err := programs(ctx, o, environ, scratch, tell)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n", describeMachine(ctx, p, o.dir))
	for _, spec := range specs(o.sizes) {
		r, err := measure(ctx, o, p, spec, scratch, tell)
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		fmt.Fprintf(stdout, "\n%s", r)
	}
	return nil
}

// measure takes one repository through all rounds.
func measure(ctx context.Context, o options, p tools, spec repoSpec, scratch string, tell func(string, ...any)) (out report, err error) {
	repo, err := openRepo(ctx, p, o.dir, spec, tell)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, repo.close()) }()
	w, err := newWorld(p, repo, filepath.Join(scratch, spec.name()))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	s := newSite(repo, w)
	rivals, err := s.rivals(ctx)
	if err != nil {
		return out, err
	}
	tell("%s: measuring, %d rounds", spec, o.rounds)
	out = report{spec: spec, dirs: repo.dirs, rounds: o.rounds, started: time.Now(), loadBefore: loadAverage()}
	if out.figures, err = takeTurns(ctx, rivals, o.rounds, s.random); err != nil {
		return out, err
	}
	out.loadAfter = loadAverage()
	if err := s.compareTrees(ctx); err != nil {
		return out, err
	}
	out.memory, err = w.memory()
	return out, err
}
