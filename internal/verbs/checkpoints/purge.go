package checkpoints

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/transcripts"
	"github.com/turnback/turnback/internal/shell"
	"github.com/turnback/turnback/internal/wire"
)

// purge takes a path out of all checkpoints of the repository.
func (c *checkpoints) purge(ctx context.Context, p api.PurgeCheckpointsParams) (api.PurgeCheckpointsResult, error) {
	path, err := onePath(p.Path, p.PathBase64)
	if err != nil {
		return api.PurgeCheckpointsResult{}, err
	}
	store, err := c.storeFor(ctx, p.Place)
	if err != nil {
		return api.PurgeCheckpointsResult{}, err
	}
	copies, kept, err := c.mentioning(store, path)
	if err != nil {
		return api.PurgeCheckpointsResult{}, err
	}
	r := checkpoint.PurgeRequest{Path: path, Now: p.Now, DryRun: p.DryRun}
	if !p.Force && !p.DryRun {
		r.Check = c.readyEverywhere(store)
		err = r.Check(ctx)
	}
	var res checkpoint.PurgeResult
	if err == nil {
		res, err = store.Purge(ctx, r)
	}
	if err != nil {
		line := again{words: []string{"turnback checkpoint purge --path " + shell.Word(path)}}
		if p.Now {
			line.words = append(line.words, "--now")
		}
		return api.PurgeCheckpointsResult{}, line.refusal(err)
	}
	if !p.DryRun && len(copies) > 0 {
		if err := c.Copies.Remove(ctx, copies...); err != nil {
			return api.PurgeCheckpointsResult{}, fmt.Errorf("the checkpoints are without %s; remove copies of transcripts: %w", path, err)
		}
	}
	out := api.PurgeCheckpointsResult{
		Worktree: store.Worktree(), DryRun: p.DryRun, Rewritten: purged(res.Rewritten), Dropped: purged(res.Dropped), Unknown: purged(res.Unknown),
		Files: res.Files, Still: []api.StillReachable{}, OnDisk: res.OnDisk, Removed: res.Removed, HeldBy: append([]string{}, res.HeldBy...),
		Left: res.Left, Untrusted: true,
	}
	out.Path, out.PathBase64 = wire.Path(path)
	for _, where := range slices.Sorted(maps.Keys(res.Still)) {
		out.Still = append(out.Still, api.StillReachable{Where: where, Files: res.Still[where]})
	}
	out.Transcripts, out.Conversations = sessions(copies), sessions(kept)
	return out, nil
}

// mentioning are the copies of transcripts that a purge of path is about too, and
// the conversations of which more is kept that may hold something of it. Where that
// cannot be told, nothing is purged.
func (c *checkpoints) mentioning(store *checkpoint.Store, path string) (copies, kept []transcripts.Copy, err error) {
	link := transcripts.Link{Worktree: store.Worktree(), CommonDir: store.CommonDir()}
	if c.Copies != nil {
		if copies, err = c.Copies.Mentioning(link, path); err != nil {
			return nil, nil, fmt.Errorf("look for copies of transcripts that hold something of it: %w", err)
		}
	}
	if c.Kept != nil {
		if kept, err = c.Kept(link, path); err != nil {
			return nil, nil, fmt.Errorf("look for conversations that hold something of it: %w", err)
		}
	}
	return copies, kept, nil
}

func sessions(copies []transcripts.Copy) []api.PurgedTranscript {
	out := make([]api.PurgedTranscript, 0, len(copies))
	for _, c := range copies {
		out = append(out, api.PurgedTranscript{Agent: c.Agent, Session: c.Session})
	}
	return out
}

// onePath is the path that was named in one of two ways.
func onePath(text, raw string) (string, error) {
	var texts, raws []string
	if text != "" {
		texts = []string{text}
	}
	if raw != "" {
		raws = []string{raw}
	}
	paths, err := rawPaths(texts, raws)
	switch {
	case err != nil:
		return "", err
	case len(paths) != 1:
		return "", api.Errorf(api.CodeInvalidParams, "name one path").WithHint(api.Hint{Param: "path", Command: "turnback checkpoint purge --help"})
	}
	return paths[0], nil
}

func purged(list []checkpoint.Checkpoint) []api.PurgedCheckpoint {
	out := make([]api.PurgedCheckpoint, 0, len(list))
	for _, c := range list {
		out = append(out, api.PurgedCheckpoint{Pane: c.Pane.ID, N: c.N, Commit: c.Commit, Label: c.Label})
	}
	return out
}
