package checkpoints

import (
	"context"
	"errors"
	"strconv"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/back"
	"github.com/turnback/turnback/internal/conversations/both"
)

// withTalk restores the files and the conversation of a checkpoint, or the latter
// alone. Either both are put back or none: the conversation is found, and held,
// before the files are touched, and put back while their journal is there.
func (c *checkpoints) withTalk(ctx context.Context, y way, f found, r checkpoint.RestoreRequest) (out api.RestoreResult, err error) {
	if c.Back == nil || c.Halves.Dir == "" {
		return out, api.Errorf(api.CodeUnsupported, "conversations cannot be put back here: there is no home and no state folder")
	}
	cp, err := f.store.Get(ctx, f.window.ID, y.n)
	if err != nil {
		return out, err
	}
	at := back.Place{N: cp.N, Agent: cp.Agent, Session: cp.AgentSession, At: cp.Transcript}
	talk, err := c.Back.Prepare(at)
	if err != nil {
		return out, c.withPlaces(ctx, f, at, err)
	}
	defer func() { err = errors.Join(err, talk.Close()) }()
	var res checkpoint.RestoreResult
	var told api.ConversationBack
	switch {
	case y.talkOnly && y.dryRun:
	case y.talkOnly:
		told, err = talk.Take()
	case y.dryRun:
		res, err = y.take(f.store, ctx, r)
	default:
		res, told, err = c.takeBoth(ctx, y, f, r, talk)
	}
	if err != nil {
		return out, err
	}
	if y.dryRun {
		told = api.ConversationBack{Agent: at.Agent, From: at.Session}
	}
	if y.talkOnly {
		res.N = y.n
	}
	out = c.restored(ctx, f, y.action, res, y.dryRun)
	out.Conversation, out.ConversationOnly = &told, y.talkOnly
	return out, nil
}

// withPlaces has the refusal of a checkpoint that does not tell where its
// conversation was name those of the pane that do.
func (c *checkpoints) withPlaces(ctx context.Context, f found, at back.Place, err error) error {
	e := api.AsError(err)
	if e.Code != api.CodeContentMissing || at.At != "" && at.Session != "" {
		return err
	}
	info, lerr := f.store.List(ctx, f.window.ID)
	if lerr != nil {
		return err
	}
	hint := api.Hint{}
	if e.Hint != nil {
		hint = *e.Hint
	}
	for _, cp := range info.Checkpoints {
		if cp.AgentSession != "" && cp.Transcript != "" {
			hint.Available = append(hint.Available, strconv.Itoa(cp.N))
		}
	}
	hint.Available = hint.Available[max(0, len(hint.Available)-maxPlaces):]
	return e.WithHint(hint)
}

// maxPlaces is how many checkpoints a refusal names.
const maxPlaces = 20

// takeBoth takes a way of the files and one of the conversation. What it is about
// to do is written down first, and forgotten unless it is left half done.
func (c *checkpoints) takeBoth(ctx context.Context, y way, f found, r checkpoint.RestoreRequest, talk back.Way) (res checkpoint.RestoreResult, told api.ConversationBack, err error) {
	record, check := both.New(f.store.Worktree(), talk.Mark()), r.Check
	r.Check = func(ctx context.Context) error {
		if check != nil {
			if err := check(ctx); err != nil {
				return err
			}
		}
		return c.Halves.Write(record)
	}
	r.Half = &checkpoint.Half{Tag: record.Tag, Take: func() (err error) {
		told, err = talk.Take()
		return err
	}}
	res, err = y.take(f.store, ctx, r)
	if left, ierr := f.store.Interrupted(); err != nil && (ierr != nil || left != nil && left.Half == record.Tag) {
		return res, told, err // for --continue and --abort
	}
	if ferr := c.Halves.Remove(record.Tag); ferr != nil {
		res.Notes = append(res.Notes, ferr.Error())
	}
	return res, told, err
}

// otherHalf is the conversation of a restore that was killed; nil: it has none.
type otherHalf struct {
	halves both.Shelf
	record both.Record
	way    back.Way // nil: nothing is known of it
	abort  bool
	told   api.ConversationBack
	why    error
}

// otherHalf finds the way to finish the conversation of the restore that was killed
// in a work tree, or to take it back.
func (c *checkpoints) otherHalf(store *checkpoint.Store, abort bool) (*otherHalf, error) {
	i, err := store.Interrupted()
	if err != nil || i == nil || i.Half == "" {
		return nil, nil // whoever finishes it says so
	}
	h := &otherHalf{halves: c.Halves, abort: abort}
	record, known, err := c.Halves.Find(i.Half, store.Worktree())
	if h.record, h.why = record, err; !known || c.Back == nil {
		return h, nil
	}
	if abort {
		h.way, err = c.Back.Reverse(record.Mark, record.Written)
	} else {
		h.way, err = c.Back.Forward(record.Mark)
	}
	if e := api.AsError(err); err != nil && !abort && e.Code == api.CodeContentMissing {
		hint := api.Hint{}
		if e.Hint != nil {
			hint = *e.Hint
		}
		hint.Detail, hint.Command = "the files can be put back as they were before", "turnback checkpoint restore --abort"
		return nil, e.WithHint(hint)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// put finishes the half that has a tag. It is called while the journal is there.
func (h *otherHalf) put(tag string) (err error) {
	switch {
	case h == nil || h.way != nil && tag != h.record.Tag:
		return api.Errorf(api.CodeNotReady, "another restore was interrupted meanwhile").WithHint(api.Hint{Detail: "run the command again"})
	case h.way == nil:
		return nil
	}
	if m := h.way.Mark(); !h.abort && m != h.record.Mark { // another copy than the one that was written down
		h.record.Mark = m
		if err := h.halves.Write(h.record); err != nil {
			return err
		}
	}
	h.told, err = h.way.Take()
	return err
}

// close ends the way, taken or not.
func (h *otherHalf) close() error {
	if h == nil || h.way == nil {
		return nil
	}
	return h.way.Close()
}

// tell tells of a half that was finished, and forgets it.
func (h *otherHalf) tell(out *api.RestoreResult) {
	switch {
	case h == nil:
		return
	case h.way == nil:
		why := "it is not known here"
		if h.why != nil {
			why = h.why.Error()
		}
		out.Notes = append(out.Notes, "the conversation that belongs to it is as it was left: "+why)
		return
	case h.abort && back.Gone(h.way):
		out.Notes = append(out.Notes, "the conversation cannot be had any more")
	case h.abort:
		out.Notes = append(out.Notes, "the conversation is as it was before")
	default:
		out.Conversation = &h.told
	}
	if err := h.halves.Remove(h.record.Tag); err != nil {
		out.Notes = append(out.Notes, err.Error())
	}
}
