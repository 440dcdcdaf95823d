// Package daemon is the server: one process per socket that serves the verb
// table and the stream of events, and the wiring of the rooms below.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/verbs"
)

// ErrRunning says that another daemon serves the socket.
var ErrRunning = errors.New("a daemon is already running")

// How long the daemon waits for things, when Options do not say otherwise.
const (
	defaultStopWithin = 20 * time.Second
	defaultTick       = 2 * time.Second
	defaultLockWait   = 10 * time.Second
)

// Options are what a daemon is made of.
type Options struct {
	Version    string
	Socket     api.Socket
	StateDir   string           // the state file and the logs; made when absent
	ConfigPath string           // the config file; it may be absent
	Environ    []string         // the environment of who started the daemon
	Now        func() time.Time // the clock
	Build      Builder          // makes the rooms below; nil: Wire

	StopWithin time.Duration // how long a stop waits for running calls and saves; 0: 20 s
	Tick       time.Duration // how often config and socket are looked at; 0: 2 s
	LockWait   time.Duration // how long to wait for a daemon that is stopping; 0: 10 s
}

// Services are what the daemon gives to the rooms that it serves.
type Services struct {
	Config   func() config.Config // the settings that hold now
	Publish  func(api.Event)      // hands an event to every reader, without waiting; sets At when it is zero
	Log      *slog.Logger
	StateDir string // empty: there can be none, and nothing is kept
	Environ  []string
	Now      func() time.Time
}

// Builder makes the rooms. ctx lasts as long as the daemon runs.
type Builder func(ctx context.Context, s Services) (Rooms, error)

// Rooms are what the daemon serves.
type Rooms struct {
	Tracker     Tracker
	Checkpoints []verbs.Verb       // the verbs about checkpoints
	Talks       Talks              // may be nil
	Uncollapsed func() string      // whose request went out as it came last, and why; may be nil
	TalkVerbs   []verbs.Verb       // the verbs about conversations
	Git         func() api.GitInfo // the git that is used
	Saving      func() int         // saves that run or wait; may be nil
	StateFile   string
	Close       func() error // called last, after Tracker.Close; may be nil
}

// Tracker follows agents' states and turns. Package turns has the real one; its
// methods are the verbs of the same names.
type Tracker interface {
	Report(ctx context.Context, r api.AgentReport) (api.SetAgentStateResult, error)
	SetState(ctx context.Context, p api.SetAgentStateParams) (api.SetAgentStateResult, error)
	GetState(ctx context.Context, p api.GetAgentStateParams) (api.GetAgentStateResult, error)
	Windows(ctx context.Context) (api.ListWindowsResult, error)
	// Close saves what is mid-turn and waits for the saves that run, at most
	// until ctx ends.
	Close(ctx context.Context) error
}

// Talks follow the conversations of agents, as far as hooks tell of them.
type Talks interface {
	// Report takes in a hook's report; nil: the hook has nothing to answer for it.
	Report(r api.AgentReport) *api.ConversationReply
}

// Server is a daemon.
type Server struct {
	o       Options
	bus     *bus
	started time.Time

	stop  context.Context // ends when the daemon is asked to stop
	ask   func()          // ends it
	quiet context.Context // ends when there will be no more events
	hush  func()

	gate    sync.Mutex     // held to decide whether a call or a stream may still begin
	calls   sync.WaitGroup // calls that run
	streams sync.WaitGroup // streams of events

	// Set by Run before anything is served.
	log     *slog.Logger
	logFile *logFile
	noState error // why there is no state folder; nil: there is one
	config  *config.Watcher
	rooms   Rooms
	table   *verbs.Table
}

// New makes a daemon; Run runs it.
func New(o Options) (*Server, error) {
	switch {
	case o.Now == nil:
		return nil, errors.New("make the daemon: no clock")
	case !filepath.IsAbs(o.Socket.Path):
		return nil, fmt.Errorf("make the daemon: the socket's path is not absolute: %q", o.Socket.Path)
	case !filepath.IsAbs(o.StateDir):
		return nil, fmt.Errorf("make the daemon: the state folder is not absolute: %q", o.StateDir)
	}
	if o.Build == nil {
		o.Build = Wire
	}
	if o.StopWithin == 0 {
		o.StopWithin = defaultStopWithin
	}
	if o.Tick == 0 {
		o.Tick = defaultTick
	}
	if o.LockWait == 0 {
		o.LockWait = defaultLockWait
	}
	s := &Server{o: o, bus: newBus()}
	s.stop, s.ask = context.WithCancel(context.Background())
	s.quiet, s.hush = context.WithCancel(context.Background())
	return s, nil
}

// Run serves until ctx ends, stop-daemon is called, or the socket is taken from
// it; then it saves what is mid-turn and returns nil. ErrRunning means that
// another daemon serves the socket. It is called once.
func (s *Server) Run(ctx context.Context) (err error) {
	lock, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s.noState = os.MkdirAll(s.o.StateDir, 0o700)
	s.logFile = openLog(LogPath(s.o.StateDir), logSize)
	defer func() { err = errors.Join(err, s.logFile.Close()) }()
	s.log = slog.New(slog.NewJSONHandler(s.logFile, nil)).With("pid", os.Getpid())
	s.started = s.o.Now()
	s.config = config.NewWatcher(s.o.ConfigPath, s.o.Now, s.configChanged)

	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if err := s.build(life); err != nil {
		s.log.Error("start", "error", err.Error())
		return err
	}
	unhook := context.AfterFunc(ctx, s.Stop)
	defer unhook()
	if err = s.serve(life); err != nil {
		s.log.Error("stopped", "error", err.Error())
		return err
	}
	s.log.Info("stopped")
	return nil
}

func (s *Server) build(ctx context.Context) error {
	stateDir := s.o.StateDir
	if s.noState != nil {
		stateDir = ""
	}
	rooms, err := s.o.Build(ctx, Services{
		Config: s.config.Get, Publish: s.publish, Log: s.log,
		StateDir: stateDir, Environ: s.o.Environ, Now: s.o.Now,
	})
	if err != nil {
		return fmt.Errorf("build the daemon: %w", err)
	}
	s.rooms = rooms
	table, err := verbs.NewTable(slices.Concat(s.ownVerbs(), rooms.Checkpoints, rooms.TalkVerbs)...)
	if err != nil {
		return fmt.Errorf("build the daemon: %w", err)
	}
	s.table = table
	return nil
}

// serve listens, answers calls until the daemon is to stop, and then ends
// everything in order. life is the context of the calls.
func (s *Server) serve(life context.Context) error {
	listener, err := s.listen()
	if err != nil {
		return errors.Join(err, s.closeRooms())
	}
	life, end := context.WithCancel(life)
	defer end()
	server := &http.Server{
		Handler:           s.handler(life),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	var running sync.WaitGroup
	var failed error // of accepting connections
	running.Go(func() {
		defer s.Stop()
		if e := server.Serve(listener); !errors.Is(e, http.ErrServerClosed) {
			failed = fmt.Errorf("serve: %w", e)
		}
	})
	running.Go(func() { s.config.Run(s.stop, s.o.Tick) })
	running.Go(func() { s.watchSocket(s.stop, listener) })
	s.log.Info("started", "version", s.o.Version, "socket", s.o.Socket.Path, "git", s.rooms.Git().Path)
	<-s.stop.Done()
	s.log.Info("stopping")
	// From here on who looks for a daemon finds none; who had connected before is
	// told so (see enter).
	err = listener.remove()
	err = errors.Join(err, s.endCalls(end), s.closeRooms())
	s.silence()
	err = errors.Join(err, s.endServer(server))
	running.Wait()
	return errors.Join(err, failed)
}

// endCalls gives the calls that run half the time there is, and then ends them.
func (s *Server) endCalls(end func()) error {
	ended := make(chan struct{})
	go func() { s.calls.Wait(); close(ended) }()
	patience := time.NewTimer(s.o.StopWithin / 2)
	defer patience.Stop()
	select {
	case <-ended:
		return nil
	case <-patience.C:
	}
	s.log.Warn("calls are cut off")
	end()
	patience.Reset(s.o.StopWithin / 2)
	select {
	case <-ended:
		return nil
	case <-patience.C:
		return errors.New("a call did not end")
	}
}

// closeRooms saves what is mid-turn and closes everything below.
func (s *Server) closeRooms() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.StopWithin)
	defer cancel()
	err := s.rooms.Tracker.Close(ctx)
	if err != nil {
		err = fmt.Errorf("save what is mid-turn: %w", err)
	}
	if s.rooms.Close != nil {
		err = errors.Join(err, s.rooms.Close())
	}
	return err
}

// endServer lets the last replies and events out and closes every connection.
func (s *Server) endServer(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), lastWordsWithin)
	defer cancel()
	err := server.Shutdown(ctx)
	if err != nil { // somebody does not read, or sends no request
		err = server.Close()
	}
	s.streams.Wait()
	return err
}

// Stop asks the daemon to stop; Run returns when it has.
func (s *Server) Stop() {
	s.gate.Lock() // who is in enter now is counted before anybody waits
	defer s.gate.Unlock()
	s.ask()
}

// silence ends the streams of events.
func (s *Server) silence() {
	s.gate.Lock()
	defer s.gate.Unlock()
	s.hush()
}

func (s *Server) publish(e api.Event) {
	if e.At.IsZero() {
		e.At = s.o.Now().UTC()
	}
	s.bus.publish(e)
}

func (s *Server) configChanged(_ config.Config, err error) {
	if err != nil {
		s.log.Warn("config is broken, the last good values stand", "error", err.Error())
		s.publish(api.Event{Type: "config_broken", Reason: err.Error()})
		return
	}
	s.log.Info("config was read again")
	s.publish(api.Event{Type: "config_reloaded"})
}
