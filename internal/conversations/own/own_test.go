package own_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/own"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// shelf has one session with an open checkpoint and two requests.
func shelf(t *testing.T) (*own.Shelf, *session.Session) {
	t.Helper()
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	l := session.Library{Dir: filepath.Join(t.TempDir(), "sessions"), Now: func() time.Time { at = at.Add(time.Second); return at }}
	s, err := l.Create("/src/api")
	must(t, err)
	t.Cleanup(func() { s.Close() })
	_, err = s.Append(session.UserMessage("find the leak\nplease"))
	must(t, err)
	call := session.Part{Kind: session.KindCall, CallID: "c1", Name: "checkpoint", Arguments: `{"goal":"the leak"}`}
	_, err = s.Append(session.Message{Role: session.RoleAssistant, Parts: []session.Part{call}})
	must(t, err)
	r, err := s.State().Checkpoint(conversation.Call{ID: "c1", Text: "the leak", At: at})
	must(t, err)
	_, err = s.Append(session.Results(session.Answer("c1", r, nil)))
	must(t, err)
	must(t, s.Saved("c1", 4))
	for _, u := range []map[string]int{{"bytes_before": 200, "bytes_after": 200, "tokens": 50}, {"bytes_before": 900, "bytes_after": 300, "tokens": 100}} {
		_, err = s.Note(session.CustomUsage, u)
		must(t, err)
	}
	return &own.Shelf{Library: l}, s
}

func TestSessionsAreTold(t *testing.T) {
	books, s := shelf(t)
	all, err := books.List()
	must(t, err)
	if len(all) != 1 {
		t.Fatalf("%d sessions", len(all))
	}
	got := all[0]
	if got.Title != "find the leak" || got.Dir != "/src/api" || got.Checkpoints != 1 || got.Rewinds != 0 || got.Open == nil || got.Open.N != 4 {
		t.Errorf("told %+v", got)
	}
	want := api.ConversationTokens{Requests: 2, BytesBefore: 1100, BytesAfter: 500, TokensAfter: 150, TokensBefore: 350}
	if diff := cmp.Diff(want, got.Tokens); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
	// What was read is remembered, but not longer than it holds.
	_, err = s.Abandon()
	must(t, err)
	if all, err = books.List(); err != nil || all[0].Open != nil {
		t.Errorf("closed, it is told as %+v, %v", all, err)
	}
}

func TestAbandon(t *testing.T) {
	books, s := shelf(t)
	_, err := books.Abandon(s.ID())
	if e := api.AsError(err); e.Code != api.CodeNotReady || e.Message != "session in use by pid "+strconv.Itoa(os.Getpid()) {
		t.Errorf("in use: %v", e)
	}
	must(t, s.Close())
	r, err := books.Abandon(s.ID())
	must(t, err)
	if r.Checkpoint.State != "cleared" || r.Checkpoint.Goal != "the leak" || r.Checkpoint.N != 4 || r.Checkpoint.ClosedAt == nil {
		t.Errorf("closed %+v", r.Checkpoint)
	}
	if _, err = books.Abandon(s.ID()); api.AsError(err).Code != api.CodeNoCheckpoint {
		t.Errorf("again: %v", err)
	}
	again, err := books.Library.Open(s.ID())
	if err != nil {
		t.Fatalf("it was not let go: %v", err)
	}
	must(t, again.Close())
}

// TestB148ADamagedSessionIsNamed has one that cannot be read beside a sound one.
func TestB148ADamagedSessionIsNamed(t *testing.T) {
	books, s := shelf(t)
	fork, err := books.Library.Fork(s.ID(), "", "/src/other")
	must(t, err)
	must(t, fork.Close())
	text, err := os.ReadFile(fork.Path())
	must(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	lines[2] = "{\"id\":\n"
	must(t, os.WriteFile(fork.Path(), []byte(strings.Join(lines, "")), 0o600))
	all, err := books.List()
	if len(all) != 1 || all[0].Session != s.ID() {
		t.Errorf("listed: %+v", all)
	}
	if corrupt, ok := errors.AsType[*session.CorruptError](err); !ok || corrupt.Line != 3 {
		t.Errorf("not named: %v", err)
	}
	_, err = books.Show(fork.ID())
	if e := api.AsError(err); e.Code != api.CodeDamaged || !strings.Contains(e.Message, "line 3") {
		t.Errorf("show: %+v", e)
	}
	if _, err = books.Show("20260101T000000-00"); api.AsError(err).Code != api.CodeSessionNotFound {
		t.Errorf("show of none: %v", err)
	}
}
