package back_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/agents/claude"
	"github.com/turnback/turnback/internal/agents/transcript"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/conversations/back"
)

// library has one session of three turns; ends are the entries that they ended
// with.
func library(t *testing.T) (l session.Library, id string, ends []string) {
	t.Helper()
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	l = session.Library{Dir: filepath.Join(t.TempDir(), "sessions"), Now: func() time.Time { at = at.Add(time.Second); return at }}
	s, err := l.Create("/src/api")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		said := session.Message{Role: session.RoleAssistant, Parts: []session.Part{session.Text("done " + strconv.Itoa(i+1))}}
		for _, m := range []session.Message{session.UserMessage("turn " + strconv.Itoa(i+1)), said} {
			if _, err := s.Append(m); err != nil {
				t.Fatal(err)
			}
		}
		ends = append(ends, s.Leaf())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return l, s.ID(), ends
}

func ways(l session.Library) back.Ways {
	return back.Ways{
		Sessions: l, Copiers: map[string]back.Copier{claude.Name: claude.New()},
		Whole: map[string]func(string) string{"forking": func(session string) string { return "forking " + strconv.Quote(session) }},
	}
}

func texts(t *testing.T, l session.Library, id string) string {
	t.Helper()
	s, err := l.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range s.Context() {
		all = append(all, m.JoinedText())
	}
	return strings.Join(all, ", ")
}

// TestB146OwnSessionMovesAndLosesNothing goes back to turn 1, forward to turn 3,
// and back to turn 2.
func TestB146OwnSessionMovesAndLosesNothing(t *testing.T) {
	l, id, ends := library(t)
	for turn, want := range map[int]string{1: "turn 1, done 1", 3: "turn 1, done 1, turn 2, done 2, turn 3, done 3", 2: "turn 1, done 1, turn 2, done 2"} {
		before := leaf(t, l, id)
		way, err := ways(l).Prepare(back.Place{N: turn, Agent: "turnback", Session: id, At: ends[turn-1]})
		if err != nil {
			t.Fatal(err)
		}
		told, err := way.Take()
		if err = errors.Join(err, way.Close()); err != nil {
			t.Fatal(err)
		}
		wantTold := api.ConversationBack{
			Agent: "turnback", Session: id, From: id, Entry: ends[turn-1], Left: before, Resume: "turnback agent --resume " + id,
		}
		if told != wantTold {
			t.Errorf("turn %d: told %+v, want %+v", turn, told, wantTold)
		}
		if got := texts(t, l, id); got != want {
			t.Errorf("turn %d: %q, want %q", turn, got, want)
		}
	}
}

func leaf(t *testing.T, l session.Library, id string) string {
	t.Helper()
	s, err := l.Read(id)
	if err != nil {
		t.Fatal(err)
	}
	return s.Leaf()
}

func TestUntilItIsTakenNothingHasChanged(t *testing.T) {
	l, id, ends := library(t)
	path := filepath.Join(l.Dir, id+".jsonl")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	way, err := ways(l).Prepare(back.Place{N: 1, Agent: "turnback", Session: id, At: ends[0]})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Open(id); err == nil {
		t.Error("another can go on with the session meanwhile")
	}
	if err := way.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the file has changed: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	l, id, ends := library(t)
	busy, err := l.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	transcripts := t.TempDir()
	transcript := filepath.Join(transcripts, "5f2c.jsonl")
	if err := os.WriteFile(transcript, []byte("{\"type\":\"assistant\",\"uuid\":\"a1\",\"sessionId\":\"5f2c\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(transcripts, "link.jsonl")
	if err := os.Symlink(transcript, link); err != nil {
		t.Fatal(err)
	}
	place := func(path, uuid string) string {
		return `{"path":` + strconv.Quote(path) + `,"uuid":"` + uuid + `","size":1}`
	}
	for name, c := range map[string]struct {
		place back.Place
		code  api.Code
		says  string
	}{
		"no agent":            {back.Place{N: 7}, api.CodeContentMissing, "checkpoint 7 tells of no agent's conversation"},
		"an agent that forks": {back.Place{N: 7, Agent: "forking", Session: "s 1"}, api.CodeUnsupported, "the conversation of checkpoint 7 is forking's, which cannot be put back"},
		"an agent without":    {back.Place{N: 7, Agent: "gemini", Session: "s", At: "x"}, api.CodeUnsupported, "gemini"},
		"no place":            {back.Place{N: 7, Agent: "claude", Session: "5f2c"}, api.CodeContentMissing, "does not tell where"},
		"in use":              {back.Place{N: 7, Agent: "turnback", Session: id, At: ends[0]}, api.CodeNotReady, "session in use by pid " + strconv.Itoa(os.Getpid())},
		"session gone":        {back.Place{N: 7, Agent: "turnback", Session: "20260101T000000-0000", At: ends[0]}, api.CodeContentMissing, "not there any more"},
		"session outside":     {back.Place{N: 7, Agent: "turnback", Session: "../" + id, At: ends[0]}, api.CodeContentMissing, "not there any more"},
		"transcript gone":     {back.Place{N: 7, Agent: "claude", Session: "aaaa", At: place(filepath.Join(transcripts, "aaaa.jsonl"), "a1")}, api.CodeContentMissing, "no such file"},
		"entry gone":          {back.Place{N: 7, Agent: "claude", Session: "5f2c", At: place(transcript, "a2")}, api.CodeContentMissing, "no longer has the entry"},
		"another's file":      {back.Place{N: 7, Agent: "claude", Session: "aaaa", At: place(transcript, "a1")}, api.CodeContentMissing, "is not the transcript"},
		"a link":              {back.Place{N: 7, Agent: "claude", Session: "link", At: place(link, "a1")}, api.CodeContentMissing, "no file that can be read"},
		"a relative path":     {back.Place{N: 7, Agent: "claude", Session: "5f2c", At: place("5f2c.jsonl", "a1")}, api.CodeContentMissing, "is not the transcript"},
		"no place that reads": {back.Place{N: 7, Agent: "claude", Session: "5f2c", At: "{"}, api.CodeContentMissing, "cannot be read"},
	} {
		way, err := ways(l).Prepare(c.place)
		if way != nil || err == nil {
			t.Errorf("%s: a way was found", name)
			continue
		}
		if e := api.AsError(err); e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %s %q, want %s and %q", name, e.Code, e.Message, c.code, c.says)
		}
	}
	_, err = ways(l).Prepare(back.Place{N: 7, Agent: "forking", Session: "s 1"})
	const whole = `without --conversation the files alone are put back; forking itself goes on with a copy of the whole conversation by: forking "s 1"`
	if e := api.AsError(err); e.Hint.Detail != whole {
		t.Errorf("the hint is %q", e.Hint.Detail)
	}
	if err := busy.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ways(l).Prepare(back.Place{N: 7, Agent: "turnback", Session: id, At: "ffffffffffff"}); err == nil || !strings.Contains(err.Error(), "has no entry") {
		t.Errorf("an entry that is not there: %v", err)
	}
	again, err := l.Open(id)
	if err != nil {
		t.Fatalf("a refusal holds the session: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(transcripts)
	if err != nil || len(left) != 2 {
		t.Errorf("refusals left files: %v, %v", left, err)
	}
}

// TestGoneOnMeanwhile has somebody go on with a conversation between the kill of a
// restore and its end.
func TestGoneOnMeanwhile(t *testing.T) {
	l, id, ends := library(t)
	place := back.Place{N: 1, Agent: "turnback", Session: id, At: ends[0]}
	says := func() {
		t.Helper()
		s, err := l.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Append(session.UserMessage("on")); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// take takes a way, and tells what is said then.
	take := func(way back.Way, err error) string {
		t.Helper()
		if err != nil {
			return err.Error()
		}
		_, err = way.Take()
		if err = errors.Join(err, way.Close()); err != nil {
			t.Fatal(err)
		}
		return texts(t, l, id)
	}
	const one, three = "turn 1, done 1", "turn 1, done 1, turn 2, done 2, turn 3, done 3"
	ways := back.Ways{Sessions: l}
	way, err := ways.Prepare(place)
	if err != nil {
		t.Fatal(err)
	}
	mark := way.Mark()
	if err := way.Close(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if got := take(ways.Reverse(mark, now)); got != three {
		t.Errorf("back from what was never done: %q", got)
	}
	says()
	if got := take(ways.Reverse(mark, now)); got != three+", on" {
		t.Errorf("back from what was never done, and gone on with: %q", got)
	}
	for range 2 {
		if got := take(ways.Forward(mark)); got != one {
			t.Errorf("forward: %q", got)
		}
	}
	if got := take(ways.Reverse(mark, now)); got != three {
		t.Errorf("back: %q", got)
	}
	if got := take(ways.Forward(mark)); got != one {
		t.Errorf("forward again: %q", got)
	}
	says()
	if got := take(ways.Forward(mark)); got != one+", on" {
		t.Errorf("forward where it was gone on with: %q", got)
	}
	if got := take(ways.Reverse(mark, now)); !strings.Contains(got, "somebody has gone on with session "+id) {
		t.Errorf("back from what was gone on with: %q", got)
	}
	if again, err := l.Open(id); err != nil {
		t.Errorf("a refusal holds the session: %v", err)
	} else if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Remove(id); err != nil {
		t.Fatal(err)
	}
	if way, err := ways.Reverse(mark, now); err != nil {
		t.Errorf("back where the session has gone: %v", err)
	} else if _, err := way.Take(); err != nil {
		t.Errorf("back where the session has gone: %v", err)
	}
}

// TestACopyThatSomebodyWentOnWithIsNotRemoved takes back copies of a transcript.
func TestACopyThatSomebodyWentOnWithIsNotRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "5f2c.jsonl")
	if err := os.WriteFile(path, []byte("{\"type\":\"assistant\",\"uuid\":\"a1\",\"sessionId\":\"5f2c\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, ".turnback-1")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	ways := back.Ways{Copiers: map[string]back.Copier{claude.Name: claude.New()}}
	way, err := ways.Prepare(back.Place{N: 1, Agent: "claude", Session: "5f2c", At: `{"path":` + strconv.Quote(path) + `,"uuid":"a1","size":1}`})
	if err != nil {
		t.Fatal(err)
	}
	mark := way.Mark()
	if _, err := way.Take(); err != nil {
		t.Fatal(err)
	}
	if err := way.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a killed copy has left is still there: %v", err)
	}
	made := time.Now()
	if err := os.Chtimes(mark.Path, time.Time{}, made.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := ways.Reverse(mark, made); err == nil || api.AsError(err).Code != api.CodeChangedMeanwhile {
		t.Errorf("a copy that was gone on with: %v", err)
	}
	reverse, err := ways.Reverse(mark, made.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reverse.Take(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != "5f2c.jsonl" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// draft is a copy with some spans in it, and the copier of its agent.
type draft struct {
	transcript.Copy
	spans int
}

func (d draft) Session() string { return "new" }
func (d draft) Path() string    { return "" }
func (d draft) Spans() int      { return d.spans }
func (d draft) Keep() error     { return nil }
func (d draft) Drop() error     { return nil }

type copier struct{ draft }

func (c copier) Copy(string, string) (transcript.Copy, error) { return c.draft, nil }

func (c copier) CopyKept(string, string, string, string) (transcript.Copy, error) {
	return nil, errors.New("nothing is kept")
}

func (c copier) Resume(session string) string { return "other -r " + session }

func TestACopyWithSpansIsGoneOnWithThroughTheProxy(t *testing.T) {
	for spans, want := range map[int]string{0: "other -r new", 2: "turnback run --conversation -- other -r new"} {
		ways := back.Ways{Copiers: map[string]back.Copier{"other": copier{draft{spans: spans}}}}
		way, err := ways.Prepare(back.Place{N: 7, Agent: "other", Session: "old", At: "there"})
		if err != nil {
			t.Fatal(err)
		}
		told, err := way.Take()
		if want := (api.ConversationBack{Agent: "other", Session: "new", From: "old", Copy: true, Resume: want}); told != want || err != nil {
			t.Errorf("%d spans: told %+v, %v", spans, told, err)
		}
	}
}
