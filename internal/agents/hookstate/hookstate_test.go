package hookstate

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLog(t *testing.T) {
	d := Dir(filepath.Join(t.TempDir(), "state"))
	start := time.Date(2026, 11, 30, 14, 2, 56, 0, time.UTC)
	if err := d.Log("claude", strings.Repeat("é", 100), start, start.Add(1200*time.Millisecond), errors.New("line\nfeed "+strings.Repeat("x", 1000))); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(d.LogFile())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), "\n") != 1 || len(text) > 1000 {
		t.Errorf("the log is not one short line: %q", text)
	}
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatal(err)
	}
	if e.Time != "2026-11-30T14:02:57Z" || e.Agent != "claude" || e.Ms != 1200 || !strings.HasPrefix(e.Error, "line\nfeed x") {
		t.Errorf("entry = %+v", e)
	}
	for path, want := range map[string]os.FileMode{d.LogFile(): 0o600, string(d): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", path, info.Mode(), err, want)
		}
	}
}

func TestLogIsRotated(t *testing.T) {
	d := Dir(t.TempDir())
	now := time.Now()
	if err := os.WriteFile(d.LogFile(), make([]byte, maxLog+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Log("claude", "Stop", now, now, errors.New("x")); err != nil {
			t.Fatal(err)
		}
	}
	old, err := os.Stat(d.LogFile() + ".1")
	if err != nil || old.Size() != maxLog+1 {
		t.Errorf("the old log: %v, %v", old, err)
	}
	if info, err := os.Stat(d.LogFile()); err != nil || info.Size() > 1000 {
		t.Errorf("the new log: %v, %v", info, err)
	}
}

func TestSaw(t *testing.T) {
	d := Dir(t.TempDir())
	if _, ok := d.LastSeen("claude"); ok {
		t.Error("seen before it was")
	}
	now := time.Now()
	if err := d.Saw("claude", now); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(string(d), "hooks-seen", "claude")
	at := func() time.Time { when, _ := d.LastSeen("claude"); return when }
	set := func(when time.Time) {
		t.Helper()
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	recent := now.Add(-30 * time.Second).Truncate(time.Second)
	set(recent)
	if err := d.Saw("claude", now); err != nil || !at().Equal(recent) {
		t.Errorf("written again within a minute (%v)", err)
	}
	for name, when := range map[string]time.Time{"an old sign": now.Add(-time.Hour), "a sign of the future": now.Add(time.Hour)} {
		set(when)
		if err := d.Saw("claude", now); err != nil || at().Sub(now).Abs() > time.Minute {
			t.Errorf("%s stays: %v, %v", name, at(), err)
		}
	}
}

func TestWithoutAPlaceNothingIsKept(t *testing.T) {
	t.Chdir(t.TempDir())
	var d Dir
	now := time.Now()
	if err := errors.Join(d.Log("a", "b", now, now, errors.New("x")), d.Saw("claude", now)); err != nil {
		t.Error(err)
	}
	if _, ok := d.LastSeen("claude"); ok {
		t.Error("seen without a place")
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestAPlaceThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d, now := Dir(file), time.Now()
	if d.Log("a", "b", now, now, errors.New("x")) == nil || d.Saw("claude", now) == nil {
		t.Error("no error")
	}
}
