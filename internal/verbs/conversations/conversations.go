// Package conversations has the verbs about conversation checkpoints: what the
// MCP server, the proxy and plugins tell and ask of the daemon, and what a person
// looks at.
package conversations

import (
	"context"
	"slices"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations"
	"github.com/turnback/turnback/internal/verbs"
)

// New gives the verbs. They need a daemon: what is known of a session must not
// depend on who asks.
func New(b *conversations.Book) []verbs.Verb {
	return append(told(b), shown(b)...)
}

// told are the verbs of those who stand between an agent and its model. They are
// about the caller's own conversation.
func told(b *conversations.Book) []verbs.Verb {
	return []verbs.Verb{
		verb(b.Call, verbs.Verb{
			Name: "conversation-call", Summary: "answer a model's call of checkpoint or rewind",
			Example: `{"tool":"checkpoint","text":"find the leak","caller":{"agent":"codex","session":"0f3a"}}`,
		}),
		verb(func(_ context.Context, p api.ConversationCallingParams) (api.ConversationCallingResult, error) {
			return b.Calling(p)
		}, verbs.Verb{
			Name: "conversation-calling", Summary: "tell that a model is about to call checkpoint or rewind",
			Example: `{"tool":"rewind","caller":{"agent":"opencode","session":"ses_1","tool_use_id":"call_1"}}`,
		}),
		verb(func(_ context.Context, p api.ConversationSeenParams) (struct{}, error) {
			return struct{}{}, b.Seen(p)
		}, verbs.Verb{
			Name: "conversation-seen", Summary: "tell what a request for a model holds",
			Example: `{"caller":{"agent":"claude","session":"5f2c"},"at":"2026-11-30T10:00:00Z","rewrites":true,"spans":1,"completed":true}`,
		}),
		verb(func(_ context.Context, p api.ConversationFiguresParams) (struct{}, error) {
			return struct{}{}, b.Figures(p)
		}, verbs.Verb{
			Name: "conversation-figures", Summary: "tell what a request for a model cost",
			Example: `{"caller":{"agent":"claude","session":"5f2c"},"at":"2026-11-30T10:00:00Z","bytes_before":90000,"bytes_after":30000,"tokens":8000}`,
		}),
		verb(func(_ context.Context, p api.ConversationSettledParams) (api.ConversationSettledResult, error) {
			return b.Settled(p)
		}, verbs.Verb{
			Name: "conversation-settled", Summary: "ask what a model that came to rest is to be told",
			Example: `{"caller":{"agent":"opencode","session":"ses_1"}}`,
		}),
		verb(func(_ context.Context, p api.ConversationPromptedParams) (struct{}, error) {
			return struct{}{}, b.Prompted(p)
		}, verbs.Verb{
			Name: "conversation-prompted", Summary: "tell of a prompt",
			Example: `{"caller":{"agent":"opencode","session":"ses_1"},"text":"Go on"}`,
		}),
	}
}

// shown are the verbs of the person.
func shown(b *conversations.Book) []verbs.Verb {
	missing := []string{string(api.CodeSessionNotFound), string(api.CodeInvalidParams), string(api.CodeDamaged)}
	show := func(whole bool) func(context.Context, api.ConversationParams) (api.ConversationShowResult, error) {
		return func(_ context.Context, p api.ConversationParams) (api.ConversationShowResult, error) {
			return b.Show(p, whole)
		}
	}
	return []verbs.Verb{
		verb(func(_ context.Context, p api.ConversationListParams) (api.ConversationListResult, error) {
			return b.List(p), nil
		}, verbs.Verb{
			Name: "conversation-list", Grant: verbs.GrantRead, Summary: "list the conversations with checkpoints",
			Example: `{"dir":"/home/u/src/api"}`,
		}),
		verb(show(false), verbs.Verb{
			Name: "conversation-show", Grant: verbs.GrantRead, Summary: "show the checkpoints of a conversation",
			Errors: missing, Example: `{"session":"5f2c"}`,
		}),
		verb(show(true), verbs.Verb{
			Name: "conversation-export", Grant: verbs.GrantRead, Summary: "give everything that is known of a conversation",
			Errors: missing, Example: `{"session":"5f2c"}`,
		}),
		verb(func(_ context.Context, p api.ConversationListParams) (api.ConversationStatsResult, error) {
			return b.Stats(p), nil
		}, verbs.Verb{
			Name: "conversation-stats", Grant: verbs.GrantRead, Summary: "tell how many tokens collapsing saved",
		}),
		verb(func(_ context.Context, p api.ConversationParams) (api.ConversationAbandonResult, error) {
			return b.Abandon(p)
		}, verbs.Verb{
			Name: "conversation-abandon", Grant: verbs.GrantWrite, Summary: "close the open checkpoint of a conversation without a report",
			Errors: append(slices.Clone(missing), string(api.CodeNoCheckpoint), string(api.CodeNotReady)), Example: `{"session":"5f2c"}`,
		}),
		verb(b.Purge, verbs.Verb{
			Name: "conversation-purge", Grant: verbs.GrantAdmin, Summary: "remove what is kept of a conversation",
			Errors: []string{string(api.CodeSessionNotFound), string(api.CodeInvalidParams), string(api.CodeNotReady)}, Example: `{"session":"5f2c"}`,
		}),
	}
}

// verb has a function with typed parameters answer a verb.
func verb[P, R any](f func(context.Context, P) (R, error), v verbs.Verb) verbs.Verb {
	v.Params = func() any { return new(P) }
	v.Run = func(ctx context.Context, call verbs.Call) (any, error) {
		params, ok := call.Params.(*P)
		if !ok {
			return nil, api.Errorf(api.CodeInternal, "unexpected parameters %T", call.Params)
		}
		return f(ctx, *params)
	}
	return v
}
