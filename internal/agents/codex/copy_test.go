package codex

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// three has three turns: one that is done, one that failed, and one that is going on.
func three() *roll {
	return newRoll(thread).starts("t1").user("first").opens("g").closes("r").says("one").ends("t1").
		add("event_msg", `{"type":"thread_settings_applied","thread_id":"`+thread+`"}`).
		starts("t2").user("about " + thread).shell().fails("t2").
		starts("t3").user("third").shell()
}

func copied(t *testing.T, session, at string) (text, id string, err error) {
	t.Helper()
	c, err := Adapter{}.Copy(session, at)
	if err != nil {
		return "", "", err
	}
	if err := errors.Join(c.Keep(), c.Drop()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(c.Path())
	if err != nil {
		t.Fatal(err)
	}
	if want := "rollout-2026-11-30T10-00-00-" + c.Session() + ".jsonl"; filepath.Base(c.Path()) != want {
		t.Errorf("the copy is %s, want %s", c.Path(), want)
	}
	if err := os.Remove(c.Path()); err != nil {
		t.Fatal(err)
	}
	return string(raw), c.Session(), nil
}

func TestCopyEndsWithItsTurn(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	r := three()
	path := write(t, home, thread, r.text()+`{"timestamp":"2026-11-30T10:59:00Z","ty`)
	until := func(marks ...string) int {
		for i, line := range r.lines {
			all := true
			for _, mark := range marks {
				all = all && strings.Contains(line, mark)
			}
			if all {
				return i + 1
			}
		}
		t.Fatalf("no line has %q", marks)
		return 0
	}
	for name, c := range map[string]struct {
		turn   string
		before bool
		lines  int
	}{
		"done":             {"t1", false, until("task_complete", "t1")},
		"failed":           {"t2", false, until("task_complete", "t2")},
		"never ended":      {"t3", false, len(r.lines)},
		"before the next":  {"t2", true, until("task_started", "t2") - 1},
		"before the third": {"t3", true, until("task_started", "t3") - 1},
	} {
		got, id, err := copied(t, thread, place(path, c.turn, c.before))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := strings.Join(r.lines[:c.lines], "\n") + "\n"
		for _, key := range []string{"id", "session_id", "thread_id"} {
			want = strings.ReplaceAll(want, `"`+key+`":"`+thread+`"`, `"`+key+`":"`+id+`"`)
		}
		if got != want {
			t.Errorf("%s: the copy is\n%s\nwant\n%s", name, got, want)
		}
		if strings.Contains(got, `"`+thread+`"`) || c.turn == "t3" && !strings.Contains(got, "about "+thread) {
			t.Errorf("%s: the copy is of the old thread, or what was said has changed", name)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != r.text()+`{"timestamp":"2026-11-30T10:59:00Z","ty` {
		t.Errorf("the original has changed, %v", err)
	}
}

func TestCopyCountsSpans(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), thread, three().text())
	for turn, want := range map[string]int{"t1": 1, "t3": 1} {
		c, err := Adapter{}.Copy(thread, place(path, turn, false))
		if err != nil {
			t.Fatal(err)
		}
		if c.Spans() != want {
			t.Errorf("%s: %d spans", turn, c.Spans())
		}
		if err := c.Drop(); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("drafts are left: %v, %v", left, err)
	}
}

func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), thread, three().text())
	for name, c := range map[string]struct{ session, place, says string }{
		"a turn that is not there": {thread, place(path, "t9", false), "no longer has the turn"},
		"before the first":         {thread, place(path, "t1", true), "had not begun"},
		"before one that is not":   {thread, place(path, "t9", true), "no longer has the turn"},
		"another thread's":         {"aaaa", place(path, "t1", false), "is not the rollout"},
		"a path out":               {"../x", place(path, "t1", false), "is not the rollout"},
	} {
		if _, _, err := copied(t, c.session, c.place); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("drafts are left: %v, %v", left, err)
	}
}

// A copy goes where a session belongs, also from an archived rollout and from the
// copy that is kept of one that has gone with its folder.
func TestCopyGoesAmongTheSessions(t *testing.T) {
	t.Parallel()
	home, kept := t.TempDir(), filepath.Join(t.TempDir(), "0a1b.jsonl")
	path := write(t, home, thread, three().text())
	at := place(path, "t1", false)
	archive := filepath.Join(home, "archived_sessions", filepath.Base(path))
	if err := errors.Join(os.WriteFile(kept, []byte(three().text()), 0o600), os.Mkdir(filepath.Dir(archive), 0o700), os.Rename(path, archive)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := copied(t, thread, at); err != nil {
		t.Errorf("of an archived rollout: %v", err)
	}
	if err := errors.Join(os.Remove(archive), os.RemoveAll(filepath.Join(home, "sessions"))); err != nil {
		t.Fatal(err)
	}
	if _, err := (Adapter{}).Copy(thread, at); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a rollout that has gone: %v", err)
	}
	for _, was := range []string{path, archive} {
		c, err := Adapter{}.CopyKept(thread, at, kept, was)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(c.Path()) != filepath.Dir(path) {
			t.Errorf("the copy goes to %s", c.Path())
		}
		if err := c.Drop(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(home, "sessions")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a copy that was dropped left its folders, %v", err)
		}
	}
}
