package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/tool"
)

// batch runs the calls of one message. Each result is kept as it comes; what is
// sent has them in the order of the calls. Calls that only read run at the same
// time, those that can write one after another.
func (a *Agent) batch(ctx context.Context, calls []session.Part) error {
	opened := ""
	for len(calls) > 0 && ctx.Err() == nil {
		n := max(1, a.readers(calls))
		for _, result := range a.together(ctx, calls[:n]) {
			if result == nil {
				continue // not begun before the turn was aborted
			}
			if _, err := a.o.Session.Append(session.Results(*result)); err != nil {
				return err
			}
			if open := a.o.Session.State().Open; open != nil && open.CallID == result.CallID {
				opened = result.CallID
			}
		}
		calls = calls[n:]
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if opened != "" {
		a.saveFiles(ctx, opened)
	}
	return a.takeDue()
}

// readers is how many calls at the front only read.
func (a *Agent) readers(calls []session.Part) int {
	i := slices.IndexFunc(calls, func(c session.Part) bool {
		t := a.find(c.Name)
		return t == nil || t.Writes || t.Hidden
	})
	if i < 0 {
		return len(calls)
	}
	return i
}

func (a *Agent) find(name string) *tool.Tool {
	i := slices.IndexFunc(a.tools, func(t tool.Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &a.tools[i]
}

// together runs calls at the same time and gives the results in their order; nil
// for a call that was not begun before ctx ended.
func (a *Agent) together(ctx context.Context, calls []session.Part) []*session.Part {
	results := make([]*session.Part, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() {
			if ctx.Err() == nil {
				results[i] = a.call(ctx, call)
			}
		})
	}
	all.Wait()
	return results
}

// call runs one.
func (a *Agent) call(ctx context.Context, call session.Part) *session.Part {
	result := session.Part{Kind: session.KindResult, CallID: call.CallID}
	t := a.find(call.Name)
	args := json.RawMessage(call.Arguments)
	line := call.Name
	if t != nil && t.Line != nil {
		line = t.Line(args)
	}
	a.face.with(func(f Face) { f.Calling(call.CallID, call.Name, line, args) })
	switch {
	case a.isOwn(call.Name):
		result = a.ownCall(ctx, call)
	case t == nil:
		fail(&result, fmt.Errorf("there is no tool %q", call.Name))
	default:
		a.runTool(ctx, *t, call, &result)
	}
	a.face.with(func(f Face) { f.Called(call.CallID, call.Name, textOf(result.Content), result.IsError) })
	return &result
}

// isOwn says whether a name is checkpoint or rewind, and they are to be had.
func (a *Agent) isOwn(name string) bool {
	_, ours := conversation.ParseToolName(conversation.OwnAgent, "", name)
	return ours && a.o.Checkpoints
}

func (a *Agent) runTool(ctx context.Context, t tool.Tool, call session.Part, result *session.Part) {
	args := json.RawMessage(call.Arguments)
	var paths []string
	if t.Paths != nil {
		paths = t.Paths(args)
	}
	a.o.Report.ToolStart(ctx, t.Writes, paths)
	got, err := t.Run(ctx, tool.Call{ID: call.CallID, Arguments: args})
	a.o.Report.ToolEnd(context.WithoutCancel(ctx))
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = errors.New("interrupted by the user")
		}
		fail(result, err)
		return
	}
	result.Content, result.Loads = got.Parts, got.Loads
}

func fail(result *session.Part, err error) {
	result.IsError = true
	result.Content = []session.Part{session.Text(err.Error())}
}

func textOf(parts []session.Part) string {
	m := session.Message{Parts: parts}
	return m.JoinedText()
}

// ownCall answers a call of checkpoint or rewind.
func (a *Agent) ownCall(ctx context.Context, call session.Part) session.Part {
	state := a.o.Session.State()
	c := conversation.Call{ID: call.CallID, At: a.o.Now()}
	if conversation.Tool(call.Name) == conversation.ToolCheckpoint {
		c.Text = text(call.Arguments, "goal")
		r, err := state.Checkpoint(c)
		return session.Answer(call.CallID, r, err)
	}
	c.Text = text(call.Arguments, "report")
	r, err := a.rewind(ctx, state, c, a.o.RewindFiles)
	return session.Answer(call.CallID, r, err)
}

// rewind grants a rewind, with files only once they are restored.
func (a *Agent) rewind(ctx context.Context, state *conversation.State, c conversation.Call, files bool) (conversation.Result, error) {
	probe := *state
	if r, err := probe.Rewind(c); err != nil {
		return r, err
	}
	open := *state.Open
	if files {
		if err := a.restore(ctx, open); err != nil {
			a.note("The files were not restored, so nothing was rewound: %v", err)
			return conversation.Result{}, fmt.Errorf("nothing was rewound, since the files could not be restored: %w", err)
		}
	}
	r, err := state.Rewind(c)
	if err == nil {
		r.Texts = append(r.Texts, a.facts(ctx, open)...)
	}
	return r, err
}

// restore puts the files back as they were at a checkpoint.
func (a *Agent) restore(ctx context.Context, open conversation.Open) error {
	if open.WorkTree == 0 {
		return errors.New("no files were saved with the checkpoint")
	}
	return a.o.Files.Restore(ctx, open.WorkTree)
}

// facts are the second block of a rewind's result: what changed on disk.
func (a *Agent) facts(ctx context.Context, open conversation.Open) []string {
	if open.WorkTree == 0 {
		return nil
	}
	const most = 50
	files, err := a.o.Files.Changed(ctx, open.WorkTree)
	if err != nil {
		a.note("What changed since the checkpoint is not known: %v", err)
		return nil
	}
	list := "none"
	if n := len(files); n > most {
		list = strings.Join(files[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	} else if n > 0 {
		list = strings.Join(files, ", ")
	}
	return []string{fmt.Sprintf("Files changed since the checkpoint: %s (work-tree checkpoint %d)", list, open.WorkTree)}
}

// saveFiles saves the work tree with a checkpoint that has just opened.
func (a *Agent) saveFiles(ctx context.Context, callID string) {
	n, err := a.o.Files.Save(ctx, a.o.Session.State().Open.Goal)
	if err == nil && n > 0 {
		err = a.o.Session.Saved(callID, n)
	}
	if err != nil {
		a.note("The files were not saved with the checkpoint: %v", err)
	}
}

func text(arguments, name string) string {
	var fields map[string]any
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		return ""
	}
	found, _ := fields[name].(string)
	return found
}

func numberOf(raw json.RawMessage, name string) int {
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return 0
	}
	n, _ := fields[name].(float64)
	return int(n)
}
