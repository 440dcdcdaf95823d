package checkpoints

import (
	"context"
	"errors"
	"fmt"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/back"
)

// withTalk restores the files and the conversation of a checkpoint, or the latter
// alone. Either both are put back or none: the conversation is found, and held,
// before the files are touched, and put back when they are.
func (c *checkpoints) withTalk(ctx context.Context, y way, f found, r checkpoint.RestoreRequest) (out api.RestoreResult, err error) {
	if c.Back == nil {
		return out, api.Errorf(api.CodeUnsupported, "conversations cannot be put back here")
	}
	cp, err := f.store.Get(ctx, f.window.ID, y.n)
	if err != nil {
		return out, err
	}
	at := back.Place{N: cp.N, Agent: cp.Agent, Session: cp.AgentSession, At: cp.Transcript}
	talk, err := c.Back(at)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, talk.Close()) }()
	var res checkpoint.RestoreResult
	if !y.talkOnly {
		if res, err = y.take(f.store, ctx, r); err != nil {
			return out, err
		}
	}
	var told api.ConversationBack
	if y.dryRun {
		told = api.ConversationBack{Agent: at.Agent, From: at.Session}
	} else if told, err = talk.Take(); err != nil {
		return out, c.takeBack(ctx, f, r, res, err)
	}
	if y.talkOnly {
		res.N = y.n
	}
	out = c.restored(ctx, f, y.action, res, y.dryRun)
	out.Conversation, out.ConversationOnly = &told, y.talkOnly
	return out, nil
}

// takeBack puts the files back as they were, when the conversation cannot follow.
func (c *checkpoints) takeBack(ctx context.Context, f found, r checkpoint.RestoreRequest, res checkpoint.RestoreResult, cause error) error {
	if res.Safety == nil {
		return cause
	}
	_, err := f.store.Restore(ctx, checkpoint.RestoreRequest{
		Pane: r.Pane, N: res.Safety.N, Turn: r.Turn, State: r.State, AllPanes: true, Overwrite: true, OpenTurns: r.OpenTurns,
	})
	if err != nil {
		return api.Errorf(api.CodeInternal, "the conversation was not put back: %v; the files were, and could not be taken back: %v", cause, err).
			WithHint(api.Hint{Command: fmt.Sprintf("turnback checkpoint restore %s %d", f.flags(), res.Safety.N)})
	}
	return fmt.Errorf("the files are as they were: %w", cause)
}
