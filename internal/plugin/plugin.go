// Package plugin answers turnback's plugin in an agent that lets plugins rewrite
// what it sends: OpenCode and pi. The plugin itself, a page of JavaScript, hands
// on what happens; what to do about it is said here. They talk in lines of JSON
// over standard input and output: [Request] and [Reply]. One process serves one
// agent's process, and ends with it.
package plugin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
	"github.com/turnback/turnback/internal/api"
)

// What a plugin asks for.
const (
	DoContext = "context" // a request is about to go out: Messages is its history
	DoCall    = "call"    // the model calls Tool with Text
	DoSettled = "settled" // the model came to rest: is it to be reminded?
	DoUsage   = "usage"   // the answer to the newest request cost Tokens

	DoStarted  = "started"  // a session begins or is taken up: Reason
	DoPrompted = "prompted" // a prompt came: Text
	DoTool     = "tool"     // Tool is about to run, or goes on after DoAsked
	DoUsed     = "used"     // a tool has run
	DoAsked    = "asked"    // the person is asked something: Text
	DoEnded    = "ended"    // a turn is over, and nothing more is to come: How, and Text, what it ended with
	DoLeft     = "left"     // the session is left: Reason
)

// Request is a line from the plugin.
type Request struct {
	ID       int64           `json:"id"` // the reply has the same
	Do       string          `json:"do"`
	Session  string          `json:"session"`            // the agent's own id
	Subagent bool            `json:"subagent,omitempty"` // the session is a subagent's
	Messages json.RawMessage `json:"messages,omitempty"` // a list; empty where no message has to do with the tools
	Tool     string          `json:"tool,omitempty"`     // checkpoint, rewind
	CallID   string          `json:"call_id,omitempty"`
	Text     string          `json:"text,omitempty"` // the goal, the report, the prompt
	Tokens   int64           `json:"tokens,omitempty"`

	Reason     string   `json:"reason,omitempty"`     // the agent's own word
	PromptID   string   `json:"prompt_id,omitempty"`  // of the prompt that the agent works on; empty: it has none
	SameTurn   bool     `json:"same_turn,omitempty"`  // the prompt came while the agent works
	Paths      []string `json:"paths,omitempty"`      // that Tool names, absolute or from where the agent works
	How        string   `json:"how,omitempty"`        // done, failed, aborted
	Transcript string   `json:"transcript,omitempty"` // the session's own file, absolute; empty: it has none
	Entry      string   `json:"entry,omitempty"`      // the newest one in it
}

// Reply is a line to the plugin.
type Reply struct {
	ID       int64           `json:"id"`
	Messages json.RawMessage `json:"messages,omitempty"` // what is to be sent; absent: as it was
	Open     string          `json:"open,omitempty"`     // the goal of the checkpoint that is open
	Texts    []string        `json:"texts,omitempty"`    // the answer to a call
	IsError  bool            `json:"is_error,omitempty"`
	Reminder string          `json:"reminder,omitempty"` // what the model is to be told; it goes on then
	Notice   string          `json:"notice,omitempty"`   // what the person is to be told
	Context  string          `json:"context,omitempty"`  // what the model is to be told beside the prompt
	Error    string          `json:"error,omitempty"`    // nothing could be done
}

// Caller runs verbs of the daemon.
type Caller interface {
	Call(ctx context.Context, verb string, params, result any, progress func(api.Progress)) error
}

// Options are what a plugin is answered with.
type Options struct {
	Agent  string // opencode, pi
	Launch string // public id of the launch
	Place  api.Place
	// AgentPID is the agent's process, AgentStarted its start time as package
	// terminal tells it; 0 and empty: not known.
	AgentPID     int
	AgentStarted string
	Daemon       Caller
	Now          func() time.Time
}

// Agents are the agents that have a plugin.
func Agents() []string { return []string{"opencode", "pi"} }

// tellWait bounds what is told beside an answer: without a daemon the agent goes
// on.
const tellWait = 2 * time.Second

// server is the state of one agent's process.
type server struct {
	o     Options
	calls sync.WaitGroup

	mu  sync.Mutex // guards out
	out io.Writer
	bad error // the first failure to write

	sizes map[string]sizes // of each session's newest request
}

type sizes struct {
	at            time.Time
	before, after int
}

// Serve answers until in ends.
func Serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	s := &server{o: o, out: out, sizes: map[string]sizes{}}
	defer s.calls.Wait()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			s.line(ctx, line)
		}
		switch {
		case s.failure() != nil:
			return s.failure()
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read from the plugin: %w", err)
		}
	}
}

// line answers one request. All but calls are answered in order: what a request
// showed is told before the calls in its answer come. A call may wait for another
// of its batch.
func (s *server) line(ctx context.Context, line []byte) {
	var r Request
	if err := json.Unmarshal(line, &r); err != nil {
		s.reply(Reply{Error: "no request: " + err.Error()})
		return
	}
	switch r.Do {
	case DoContext:
		s.context(ctx, r)
	case DoCall:
		s.calls.Go(func() { s.call(ctx, r) })
	case DoStarted, DoPrompted, DoTool, DoUsed, DoAsked, DoEnded, DoLeft:
		s.report(ctx, r)
	case DoSettled:
		var told api.ConversationSettledResult
		err := s.ask(ctx, "conversation-settled", api.ConversationSettledParams{Caller: s.caller(r)}, &told)
		s.reply(failed(Reply{ID: r.ID, Reminder: told.Reminder, Notice: told.Notice}, err))
	case DoUsage:
		s.usage(ctx, r)
	default:
		s.reply(Reply{ID: r.ID, Error: fmt.Sprintf("unknown request %q", r.Do)})
	}
}

// caller says whose conversation it is.
func (s *server) caller(r Request) api.ConversationCaller {
	return api.ConversationCaller{Agent: s.o.Agent, Session: r.Session, ToolUseID: r.CallID, Launch: s.o.Launch, Subagent: r.Subagent}
}

// What stands around the list of messages, as package collapse takes it.
const before, after = `{"messages":`, `}`

// context collapses a history. The answer goes out first: the model is waiting.
func (s *server) context(ctx context.Context, r Request) {
	at := s.o.Now()
	if len(r.Messages) == 0 {
		r.Messages = []byte("[]")
	}
	body := slices.Concat([]byte(before), r.Messages, []byte(after))
	result := collapse.Collapse(collapse.Provider(s.o.Agent), conversation.OtherAgent, body)
	s.sizes[r.Session] = sizes{at: at, before: len(body), after: len(result.Body)}
	reply := Reply{ID: r.ID}
	if len(result.Spans) > 0 {
		reply.Messages = result.Body[len(before) : len(result.Body)-len(after)]
	}
	seen := api.ConversationSeenParams{
		Caller: s.caller(r), At: at, Checkpoints: result.Checkpoints, Completed: result.Completed,
		Spans: len(result.Spans), Rewrites: true, Reason: result.Reason, Unknown: !result.Known,
	}
	if open := result.Open; open != nil {
		seen.Open = &api.ConversationOpenCall{CallID: open.ID, Goal: open.Goal, BatchEnded: open.BatchEnded}
		reply.Open = open.Goal
	}
	s.reply(reply)
	if result.Known || result.Reason != "" {
		_ = s.ask(ctx, "conversation-seen", seen, nil) // without a daemon the next request is told
	}
}

// call answers the model.
func (s *server) call(ctx context.Context, r Request) {
	var result api.ConversationCallResult
	params := api.ConversationCallParams{Tool: r.Tool, Text: r.Text, Caller: s.caller(r), Dir: s.o.Place.Dir}
	err := s.o.Daemon.Call(ctx, "conversation-call", params, &result, nil)
	s.reply(failed(Reply{ID: r.ID, Texts: result.Texts, IsError: result.IsError}, err))
}

// usage tells what a request cost.
func (s *server) usage(ctx context.Context, r Request) {
	size, ok := s.sizes[r.Session]
	delete(s.sizes, r.Session)
	if !ok || r.Subagent {
		s.reply(Reply{ID: r.ID})
		return
	}
	s.tell(ctx, r, "conversation-figures", api.ConversationFiguresParams{
		Caller: s.caller(r), At: size.at, BytesBefore: int64(size.before), BytesAfter: int64(size.after), Tokens: r.Tokens,
	}, nil)
}

func (s *server) tell(ctx context.Context, r Request, verb string, params, result any) {
	s.reply(failed(Reply{ID: r.ID}, s.ask(ctx, verb, params, result)))
}

// ask runs a verb for a short time.
func (s *server) ask(ctx context.Context, verb string, params, result any) error {
	ctx, done := context.WithTimeout(ctx, tellWait)
	defer done()
	return s.o.Daemon.Call(ctx, verb, params, result, nil)
}

func failed(r Reply, err error) Reply {
	if err == nil {
		return r
	}
	return Reply{ID: r.ID, Error: api.AsError(err).Message}
}

// reply writes a line.
func (s *server) reply(r Reply) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		_, err = s.out.Write(line.Bytes())
	}
	if err != nil && s.bad == nil {
		s.bad = fmt.Errorf("write to the plugin: %w", err)
	}
}

func (s *server) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bad
}
