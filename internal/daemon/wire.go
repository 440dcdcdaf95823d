package daemon

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/conversations/own"
	"github.com/turnback/turnback/internal/registry"
	"github.com/turnback/turnback/internal/terminal"
	"github.com/turnback/turnback/internal/turns"
	"github.com/turnback/turnback/internal/verbs/checkpoints"
	talkverbs "github.com/turnback/turnback/internal/verbs/conversations"
)

// persistEvery is how often the stores do what can wait and write down what makes
// the next process faster, while no save runs.
const persistEvery = time.Minute

// Wire is the Builder of the real rooms.
func Wire(ctx context.Context, s Services) (Rooms, error) {
	r := newRepos(s.Environ, s.Config, s.Now)
	keep := newKeeper(s)
	r.linked = keep.linked
	if g := r.info(ctx); g.Error != "" {
		s.Log.Warn("no git can be used", "error", g.Error)
	}
	stateFile := ""
	if s.StateDir != "" {
		stateFile = filepath.Join(s.StateDir, "state.json")
	}
	tracker := turns.New(turns.Options{
		Registry:  registry.New(thisProcess()),
		StateFile: stateFile,
		Open: func(ctx context.Context, worktree string) (turns.Store, error) {
			if _, err := r.open(ctx, worktree); err != nil {
				return nil, err
			}
			return treeStore{repos: r, root: worktree}, nil
		},
		Find:        r.find,
		Alive:       terminal.ProcessAlive,
		Transcripts: interrupts{},
		Settings:    func() turns.Settings { return settings(s.Config()) },
		Now:         s.Now,
		Emit:        s.Publish,
		Problem:     func(err error) { s.Log.Warn("problem", "error", err.Error()) },
	})
	if err := tracker.Recover(ctx); err != nil {
		s.Log.Warn("windows could not be taken up as they were", "error", err.Error())
	}
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { tracker.Watch(ctx) })
	running.Go(func() { tendWhenIdle(ctx, r, tracker.Saving, s) })
	running.Go(func() { keep.run(ctx, r, tracker.Saving) })
	book := openBook(s, r, tracker, keep)
	cps := checkpoints.New(checkpoints.Deps{
		Panes: tracker, Open: r.open, Publish: s.Publish,
		Enabled: func() bool { return s.Config().Agents.Checkpoints.Enabled },
		Back:    wayBack(s.Environ, s.Now, keep.shelf),
		Halves:  halves(s.StateDir, s.Now),
		At:      placeNow,
		Copies:  keep,
		Kept:    book.Mentioning,
	})
	for i := range cps {
		if drops(cps[i].Name) {
			cps[i].Run = keep.thenTidy(cps[i].Run)
		}
	}
	return Rooms{
		Tracker: tracker, Talks: book, TalkVerbs: talkverbs.New(book), Uncollapsed: book.Uncollapsed,
		Checkpoints: cps,
		Git:         func() api.GitInfo { return r.info(ctx) },
		Saving:      tracker.Saving,
		StateFile:   stateFile,
		Close: func() error {
			end()
			running.Wait()
			return r.persist()
		},
	}, nil
}

func settings(c config.Config) turns.Settings {
	return turns.Settings{Enabled: c.Agents.Checkpoints.Enabled, AtTurnStart: c.Agents.Checkpoints.AtTurnStart}
}

// thisProcess names this process to others, also after its id is used again.
func thisProcess() registry.Process {
	p := registry.Process{PID: os.Getpid()}
	if started, err := terminal.ProcessStart(p.PID); err == nil {
		p.Started = started
	}
	return p
}

func tendWhenIdle(ctx context.Context, r *repos, saving func() int, s Services) {
	ticker := time.NewTicker(persistEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if saving() > 0 {
				continue
			}
			if err := r.tend(ctx); err != nil {
				s.Log.Warn("tend the repositories", "error", err.Error())
			}
			if err := r.persist(); err != nil {
				s.Log.Warn("write down for the next start", "error", err.Error())
			}
		}
	}
}

// interrupts asks the adapter of an agent about its transcripts.
type interrupts struct{}

// EndsInInterrupt reports whether the newest thing in the transcript is that the
// person interrupted the agent. Of an agent without an adapter it is not known.
func (interrupts) EndsInInterrupt(agent, path string) bool {
	t, ok := talkers()[agent]
	return ok && t.EndsInInterrupt(path)
}

// Place tells where a transcript is now, as the adapter of its agent has it.
func (interrupts) Place(agent, path, before string) string {
	if agent == own.Agent {
		leaf, _ := session.LeafOf(path) // a file that cannot be read tells no place
		return leaf
	}
	if t, ok := talkers()[agent].(placer); ok && path != "" {
		return t.PlaceNow(path, before)
	}
	return ""
}

// placeNow tells where the transcript of a window's agent is now.
func placeNow(w registry.Window) string { return interrupts{}.Place(w.Agent, w.Transcript, "") }

// FromEnviron gives the Options of the daemon that `turnback daemon run` is, from
// the environment as os.Environ gives it.
func FromEnviron(environ []string, uid int, version string, now func() time.Time) (Options, error) {
	getenv := Getenv(environ)
	socket, socketErr := api.SocketRules{Getenv: getenv, UID: uid}.Find()
	stateDir, stateErr := StateDir(getenv)
	configPath, configErr := config.Path(getenv)
	if err := cmp.Or(socketErr, stateErr, configErr); err != nil { // the first will do: it is one line
		return Options{}, fmt.Errorf("place the daemon: %w", err)
	}
	return Options{
		Version: version, Socket: socket, StateDir: stateDir, ConfigPath: configPath,
		Environ: environ, Now: now, Build: Wire,
	}, nil
}
