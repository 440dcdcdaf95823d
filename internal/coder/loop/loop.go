// Package loop is our agent's turn: ask the model, run the tools that it calls,
// and so on until it rests. It keeps to the rules of checkpoint and rewind, which
// are in package conversation.
package loop

import (
	"context"
	"sync"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
	"github.com/turnback/turnback/internal/coder/tool"
)

// Face shows a turn to somebody. Its methods are called one at a time.
type Face interface {
	Said(text string)                             // a piece of what the model says
	Calling(id, name, line string, args []byte)   // a tool is called
	Called(id, name, result string, isError bool) // and has ended
	Note(text string)                             // what the person should know
	Reported(r session.Rewind)                    // an exploration gave way to its report
	Used(usage provider.Usage, before, after int) // what a request cost; its bytes
	Compacted(tokens int)                         // the conversation was made shorter
}

// Reporter tells the daemon what the agent does, so that its turns are saved. None
// of it can fail a turn.
type Reporter interface {
	// Prompt returns what the model is to be told beside the prompt; empty: nothing.
	Prompt(ctx context.Context, id, text string) string
	ToolStart(ctx context.Context, writes bool, paths []string)
	ToolEnd(ctx context.Context)
	Rest(ctx context.Context, how Rest, said, place string)
}

// Rest is how a turn ended.
type Rest string

// The ends of a turn.
const (
	Done    Rest = "done"
	Aborted Rest = "aborted"
	Failed  Rest = "failed"
)

// Files saves and restores the work tree beside the conversation.
type Files interface {
	// Save returns the number of the work-tree checkpoint, 0 when none is taken.
	Save(ctx context.Context, goal string) (int, error)
	// Changed names the files that differ from a checkpoint now.
	Changed(ctx context.Context, n int) ([]string, error)
	// Restore puts the files back; an error is a refusal that changed nothing.
	Restore(ctx context.Context, n int) error
}

// Options are what an agent is made of.
type Options struct {
	Model   provider.Model
	Session *session.Session
	Bench   *tool.Bench
	Face    Face
	Report  Reporter
	Files   Files
	Now     func() time.Time

	System      string
	Window      int  // of the model, in tokens; 0: not known
	Checkpoints bool // the tools checkpoint and rewind can be found
	KeepOnAbort bool // an aborted turn leaves an open checkpoint open
	RewindFiles bool // a rewind of the model's restores the files too
}

// Agent is one conversation with a model. It is not safe for several goroutines.
type Agent struct {
	o     Options
	tools []tool.Tool
	face  *quiet

	tokens    int             // of the last request and its answer
	stripped  int             // so many messages from the first go without signed blocks
	left      map[string]int  // bytes that each rewind keeps out of a request
	shortened bool            // in this turn
	last      string          // what the model said last in this turn
	ids       map[string]bool // of all calls of the session
}

// New makes an agent.
func New(o Options) *Agent {
	a := &Agent{o: o, face: &quiet{face: o.Face}, left: map[string]int{}}
	a.tools = append(o.Bench.Tools(), a.ownTools()...)
	a.stripped = strippedOf(o.Session)
	a.ids = idsOf(o.Session)
	return a
}

// SetModel goes on with another model.
func (a *Agent) SetModel(m provider.Model, window int) {
	a.o.Model, a.o.Window = m, window
	a.left = map[string]int{}
}

// Model is the one in use.
func (a *Agent) Model() provider.Model { return a.o.Model }

// LastSaid is the last text of the newest turn.
func (a *Agent) LastSaid() string { return a.last }

// quiet is a face that several goroutines may speak to.
type quiet struct {
	mu   sync.Mutex
	face Face
}

func (q *quiet) with(f func(Face)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f(q.face)
}
