package conversations_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations"
	"github.com/turnback/turnback/internal/conversations/own"
	"github.com/turnback/turnback/internal/conversations/transcripts"
)

// copies is a list of copies.
type copies struct{ all, removed []transcripts.Copy }

func (c *copies) List() ([]transcripts.Copy, error) { return c.all, nil }

func (c *copies) Remove(_ context.Context, gone ...transcripts.Copy) error {
	c.removed = append(c.removed, gone...)
	return nil
}

func TestPurgeRemovesWhatIsKeptOfASession(t *testing.T) {
	dir, shelf := filepath.Join(t.TempDir(), "conversations"), &copies{all: []transcripts.Copy{{Agent: "claude", Session: "copied"}}}
	library := session.Library{Dir: filepath.Join(t.TempDir(), "own"), Now: time.Now}
	book := conversations.Open(conversations.Options{
		Dir: dir, Now: time.Now, Copies: shelf, Own: &own.Shelf{Library: library}, Problem: func(err error) { t.Error(err) },
	})
	call := func(id string) {
		_, err := book.Call(t.Context(), api.ConversationCallParams{Tool: "checkpoint", Text: "look", Caller: api.ConversationCaller{Agent: "claude", Session: id}})
		if err != nil {
			t.Fatal(err)
		}
	}
	call("known-1")
	call("known-2")
	records := func() int {
		names, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	if records() != 2 {
		t.Fatalf("%d records", records())
	}
	purge := func(id string) (api.ConversationPurgeResult, error) {
		return book.Purge(t.Context(), api.ConversationParams{Session: id})
	}
	for _, id := range []string{"", "nobody", "known"} {
		if _, err := purge(id); err == nil {
			t.Errorf("%q is purged", id)
		}
	}
	r, err := purge("known-1")
	if err != nil || !r.Record || r.Transcript || r.Own || r.Agent != "claude" || records() != 1 {
		t.Errorf("%+v, %v, %d records", r, err, records())
	}
	if r, err := purge("copi"); err != nil || r.Record || !r.Transcript || r.Session != "copied" {
		t.Errorf("%+v, %v", r, err)
	}
	// Of both no copy is to be made again.
	removed := func(c transcripts.Copy) string { return c.Session }
	if len(shelf.removed) != 2 || removed(shelf.removed[0]) != "known-1" || removed(shelf.removed[1]) != "copied" {
		t.Errorf("removed %+v", shelf.removed)
	}
	if l := book.List(api.ConversationListParams{}); len(l.Sessions) != 1 {
		t.Errorf("listed %+v", l.Sessions)
	}

	s, err := library.Create("/src/api")
	if err != nil {
		t.Fatal(err)
	}
	_, err = purge(s.ID())
	if api.AsError(err).Code != api.CodeNotReady || !strings.Contains(err.Error(), "in use by pid") {
		t.Errorf("one that is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(library.Dir, s.ID()+".blobs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := purge(s.ID()); err != nil || !r.Own {
		t.Errorf("%+v, %v", r, err)
	}
	if left, err := os.ReadDir(library.Dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := library.Open(s.ID()); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("opened again: %v", err)
	}
}

// Each reason is told once for a session, and nothing else of the request.
func TestAReasonIsToldOnceForASession(t *testing.T) {
	var told []string
	book := conversations.Open(conversations.Options{
		Now: time.Now, Problem: func(err error) { t.Error(err) },
		Doubt: func(agent, session, reason string) { told = append(told, agent+" "+session+" "+reason) },
	})
	for _, c := range [][2]string{{"s1", "no call"}, {"s1", "no call"}, {"s1", ""}, {"s1", "a loop"}, {"s2", "no call"}, {"s1", "no call"}} {
		err := book.Seen(api.ConversationSeenParams{
			Caller: api.ConversationCaller{Agent: "claude", Session: c[0]}, At: time.Now(), Rewrites: true, Reason: c[1],
			Open: &api.ConversationOpenCall{CallID: "x", Goal: "the goal"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"claude s1 no call", "claude s1 a loop", "claude s2 no call"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// A purge of a path names what else is kept that may hold something of it.
func TestWhatIsKeptOfAPathIsFound(t *testing.T) {
	library := session.Library{Dir: filepath.Join(t.TempDir(), "own"), Now: time.Now}
	if err := os.MkdirAll(library.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for id, cwd := range map[string]string{"0123456789abcdef01": "/home/u/api", "0123456789abcdef02": "/home/u/web"} {
		text := `{"type":"session","version":1,"id":"` + id + `","timestamp":"2026-11-30T10:00:00Z","cwd":"` + cwd + `"}` + "\n" + `{"type":"note","text":"cat secret.env"}` + "\n"
		if err := os.WriteFile(filepath.Join(library.Dir, id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shelf := &own.Shelf{Library: library}
	infos, err := shelf.Infos()
	if err != nil || len(infos) != 2 {
		t.Fatalf("sessions %v, %v", infos, err)
	}
	book := conversations.Open(conversations.Options{
		Dir: filepath.Join(t.TempDir(), "conversations"), Now: time.Now, Own: shelf, Problem: func(err error) { t.Error(err) },
	})
	for id, goal := range map[string]string{"s1": "read secret.env", "s2": "read other.env"} {
		if _, err := book.Call(t.Context(), api.ConversationCallParams{Tool: "checkpoint", Text: goal, Caller: api.ConversationCaller{Agent: "codex", Session: id}}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := book.Mentioning(transcripts.Link{Worktree: "/home/u/api", CommonDir: "/home/u/api/.git"}, "conf/secret.env")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range found {
		got = append(got, c.Agent+" "+c.Session)
	}
	slices.Sort(got)
	if want := []string{"codex s1", "turnback 0123456789abcdef01"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}
