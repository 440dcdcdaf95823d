package checkpoints

import (
	"context"
	"slices"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/verbs"
)

// New gives the verbs about checkpoints. They run in the daemon and in the
// process of a command that has none.
func New(d Deps) []verbs.Verb {
	c := &checkpoints{d}
	return slices.Concat(c.reads(), c.restores(), c.keeps(), c.trusts())
}

// about are the codes that every verb about a pane can fail with.
func about(more ...string) []string {
	return append(more, "no_checkpoint", "not_repo", "session_not_found", "window_not_found", "ambiguous_window", "git_failed", "timeout")
}

// reads are the verbs that change nothing.
func (c *checkpoints) reads() []verbs.Verb {
	return []verbs.Verb{
		answers(c.list, verbs.Verb{
			Name: "list-checkpoints", Grant: verbs.GrantRead, Summary: "list the checkpoints of a pane, or of all panes of the repository",
			Errors: about(), Example: `{"window":"build"}`,
		}),
		answers(c.show, verbs.Verb{
			Name: "show-checkpoint", Grant: verbs.GrantRead, Summary: "show everything that is known of a checkpoint",
			Errors: about(), Example: `{"window":"build","n":2}`,
		}),
		answers(c.diff, verbs.Verb{
			Name: "checkpoint-diff", Grant: verbs.GrantRead, Summary: "show what a turn changed, or compare two checkpoints, or one with the disk",
			Errors: about("damaged"), Example: `{"window":"build","n":2,"stat":true}`,
		}),
		answers(c.stats, verbs.Verb{
			Name: "checkpoint-stats", Grant: verbs.GrantRead, Summary: "tell how many bytes checkpoints hold that nothing else does",
			Errors: about(),
		}),
		answers(c.verify(false), verbs.Verb{
			Name: "verify-checkpoints", Grant: verbs.GrantRead, Summary: "look whether every checkpoint of the repository can be had",
			Errors: about(),
		}),
	}
}

// restores are the verbs that change the work tree.
func (c *checkpoints) restores() []verbs.Verb {
	finishes := about("not_ready", "damaged", "interrupted", "changed_meanwhile", "content_missing", "disk_full", "sandboxed")
	restores := append([]string{"would_overwrite", "other_worktree", "head_moved"}, finishes...)
	others := append([]string{"others_changed"}, restores...)
	steps := append([]string{"edited_since", "conflicts", "nothing_to_undo"}, others...)
	return []verbs.Verb{
		tells(c.restore, verbs.Verb{
			Name: "restore-checkpoint", Grant: verbs.GrantWrite, Summary: "put the files back as a checkpoint holds them",
			Errors: append([]string{"unsupported", "index_busy"}, others...), Example: `{"window":"build","n":1}`,
		}),
		tells(c.revert, verbs.Verb{
			Name: "revert-checkpoint", Grant: verbs.GrantWrite, Summary: "take back only what one turn changed, and keep the later turns",
			Errors: append([]string{"conflicts", "nothing_to_undo"}, others...), Example: `{"window":"build","n":1}`,
		}),
		tells(c.finish(false), verbs.Verb{
			Name: "continue-restore", Grant: verbs.GrantWrite, Summary: "finish a restore that was killed", Errors: finishes,
		}),
		tells(c.finish(true), verbs.Verb{
			Name: "abort-restore", Grant: verbs.GrantWrite, Summary: "take back what a killed restore did", Errors: finishes,
		}),
		tells(c.step("undo"), verbs.Verb{
			Name: "undo", Grant: verbs.GrantWrite, Summary: "take back the newest turn of a pane that changed files",
			Errors: steps, Example: `{"window":"build"}`,
		}),
		tells(c.step("redo"), verbs.Verb{
			Name: "redo", Grant: verbs.GrantWrite, Summary: "put the turn forward again that was taken back last",
			Errors: steps, Example: `{"window":"build"}`,
		}),
	}
}

// keeps are the verbs about what is kept.
func (c *checkpoints) keeps() []verbs.Verb {
	return []verbs.Verb{
		tells(c.save, verbs.Verb{
			Name: "save-checkpoint", Grant: verbs.GrantWrite, Summary: "save the work tree now",
			Errors: about("disk_full", "sandboxed"), Example: `{"label":"before the big change"}`,
		}),
		answers(c.drop, verbs.Verb{
			Name: "drop-checkpoints", Grant: verbs.GrantWrite, Summary: "move checkpoints of a pane to the trash, or delete them",
			Errors: about("interrupted"), Example: `{"window":"build","ns":[1,2]}`,
		}),
		answers(c.untrash, verbs.Verb{
			Name: "untrash-checkpoints", Grant: verbs.GrantWrite, Summary: "bring checkpoints of a pane back from the trash",
			Errors: about("damaged"), Example: `{"window":"build","ns":[1]}`,
		}),
		answers(c.prune, verbs.Verb{
			Name: "prune-checkpoints", Grant: verbs.GrantAdmin, Summary: "delete old checkpoints of every pane of the repository",
			Errors: about(), Example: `{"older_than":"30d"}`,
		}),
		answers(c.purge, verbs.Verb{
			Name: "purge-checkpoints", Grant: verbs.GrantAdmin, Summary: "take a path out of every checkpoint of the repository",
			Errors: about("not_ready", "interrupted", "sandboxed", "disk_full"), Example: `{"path":"secret.env","dry_run":true}`,
		}),
		answers(c.verify(true), verbs.Verb{
			Name: "mend-checkpoints", Grant: verbs.GrantAdmin, Summary: "do what helps against what verify-checkpoints finds",
			Errors: about("sandboxed"), Example: `{"full":true}`,
		}),
		answers(c.branch, verbs.Verb{
			Name: "branch-checkpoint", Grant: verbs.GrantWrite, Summary: "make a branch with the tree of a checkpoint",
			Errors: about("damaged"), Example: `{"window":"build","n":2,"name":"try"}`,
		}),
	}
}

// answers has a function with typed parameters answer a verb.
func answers[P, R any](f func(context.Context, P) (R, error), v verbs.Verb) verbs.Verb {
	return tells(func(ctx context.Context, p P, _ func(api.Progress)) (R, error) { return f(ctx, p) }, v)
}

// tells is answers for a function that tells how far it is.
func tells[P, R any](f func(context.Context, P, func(api.Progress)) (R, error), v verbs.Verb) verbs.Verb {
	v.Params = func() any { return new(P) }
	v.Run = func(ctx context.Context, call verbs.Call) (any, error) {
		params, ok := call.Params.(*P)
		if !ok {
			return nil, api.Errorf(api.CodeInternal, "unexpected parameters %T", call.Params)
		}
		result, err := f(ctx, *params, call.Progress)
		if err != nil {
			return nil, toAPI(err)
		}
		return result, nil
	}
	return v
}
