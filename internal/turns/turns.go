// Package turns follows agents from report to report and has their work saved:
// it turns what hooks and callers say into turns of windows, and turns into
// jobs for the checkpoint store, one queue a work tree.
package turns

import (
	"context"
	"sync"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

const (
	// hookWait is how long a report waits for the checkpoint that it caused.
	hookWait = 2 * time.Second
	// toolWait is how long a tool that can write is held back by the save of
	// its turn's start.
	toolWait = 2500 * time.Millisecond
	// lookWait bounds the questions to git that a report needs an answer to.
	lookWait = 10 * time.Second
	// noteWait bounds the noting of a save that failed.
	noteWait = 5 * time.Second
	// sweepEvery is how often open turns are checked for agents that have died
	// or were interrupted.
	sweepEvery = 3 * time.Second
	// writeEvery is how often a record is written of which only the time of the
	// last sign of life changed.
	writeEvery = time.Minute
	// forgetAfter is how long a window without a sign of life is kept.
	forgetAfter = 90 * 24 * time.Hour
)

// Store keeps the checkpoints of one work tree. Its calls may block for long;
// the Tracker makes one at a time for each work tree, but for HighestTurn, which
// it may ask at any time.
type Store interface {
	Begin(ctx context.Context, r checkpoint.BeginRequest) (checkpoint.BeginResult, error)
	Save(ctx context.Context, r checkpoint.SaveRequest) (checkpoint.SaveResult, error)
	NoteNotSaved(ctx context.Context, p checkpoint.Pane, n checkpoint.NotSaved) error
	// HighestTurn is the highest turn number that the pane ever had; 0: none.
	HighestTurn(ctx context.Context, paneID string) (int, error)
}

// WorktreeInfo is what git says about a directory in a work tree. Paths are
// absolute, symbolic links resolved.
type WorktreeInfo struct {
	Root      string // root of the work tree
	CommonDir string // git directory of the repository
	GitDir    string // git directory of this work tree; differs from CommonDir in a linked one
	Branch    string // short name of the branch that is checked out; empty: none, or not known
}

// Transcripts reads what agents write about their sessions.
type Transcripts interface {
	// EndsInInterrupt reports whether the newest thing in the transcript is
	// that the person interrupted the agent. A transcript that cannot be read
	// does not.
	EndsInInterrupt(agent, path string) bool
	// Place tells where the transcript is now, up to which it is whole; before is the
	// id of a prompt that does not belong to it any more, empty: none. It is empty
	// where that is not known.
	Place(agent, path, before string) string
}

// Settings are the parts of the configuration that matter here.
type Settings struct {
	Enabled     bool // checkpoints are taken
	AtTurnStart bool // also of what changed between two turns
}

// Options are what a Tracker works with. All are required but where it says
// otherwise.
type Options struct {
	Registry  *registry.Registry
	StateFile string // where the registry is kept; empty: not kept

	// Open gives the store of the work tree with this root. It is asked again
	// after it failed.
	Open func(ctx context.Context, worktree string) (Store, error)
	// Find tells the work tree of a directory. An *api.Error with CodeNotRepo
	// says that there is none.
	Find func(ctx context.Context, dir string) (WorktreeInfo, error)
	// Alive reports whether the process that had this id at this start time
	// still runs. An empty start time is one that is not known.
	Alive       func(pid int, started string) bool
	Transcripts Transcripts
	// Settings is asked at each event, so that a changed configuration counts
	// from the next one on.
	Settings func() Settings
	Now      func() time.Time

	// Emit is given what happens, in order, one at a time. It must return at
	// once and may not call the Tracker.
	Emit func(api.Event)
	// Problem is given what went wrong outside any caller's request: a record
	// that could not be written or read. Same rules as Emit. It never holds
	// text of a prompt.
	Problem func(error)
}

// Tracker follows every window. Its methods may be called at the same time.
type Tracker struct {
	o     Options
	trees trees
	wake  chan struct{} // has an element when a turn was opened since Watch last looked

	ctx     context.Context // of the saves
	giveUp  context.CancelFunc
	workers sync.WaitGroup

	mu      sync.Mutex // guards all below, and the registry
	closing bool
	turns   map[string]*turn   // the newest turn of a window, by window id
	queues  map[string]*queue  // by root of the work tree
	stores  map[string]Store   // by root of the work tree
	calls   map[string]calls   // by window id
	written map[string]written // what the record of a window holds, by window id
	unsure  map[string]bool    // ids of windows whose highest turn could not be read
	noticed map[string]bool    // ids of windows that were told that nothing is saved
	resumed map[string][]*job  // what other processes had left to do, by root of the work tree
}

// calls counts the reports about a window.
type calls struct {
	running  int       // reports that were not answered yet
	answered time.Time // when the last one was
}

// written is what a window's record holds.
type written struct {
	window registry.Window
	at     time.Time
}

// turn is what is in memory of a window's newest turn.
type turn struct {
	number int
	base   *registry.Base // nil: not noted, or not yet
	start  *job           // notes the base; nil: of a turn that was taken up again
	save   *job           // the last save of it; nil: none yet
}

// New returns a Tracker. Recover is to be called before any report is given to
// it, Close at the end.
func New(o Options) *Tracker {
	ctx, giveUp := context.WithCancel(context.Background())
	return &Tracker{
		o: o, ctx: ctx, giveUp: giveUp,
		trees: trees{find: o.Find, known: map[string]*tree{}},
		wake:  make(chan struct{}, 1),
		turns: map[string]*turn{}, queues: map[string]*queue{}, stores: map[string]Store{},
		calls: map[string]calls{}, written: map[string]written{}, unsure: map[string]bool{}, noticed: map[string]bool{},
		resumed: map[string][]*job{},
	}
}

// alive is Options.Alive for a process of the registry.
func (t *Tracker) alive(p registry.Process) bool {
	return p.PID != 0 && t.o.Alive(p.PID, p.Started)
}
