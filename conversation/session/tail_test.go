package session_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation/session"
)

// TestLeafOfAnOpenSession reads the end of a session's file while another has the
// session open.
func TestLeafOfAnOpenSession(t *testing.T) {
	l := session.Library{Dir: filepath.Join(t.TempDir(), "sessions"), Now: time.Now}
	s, err := l.Create("/src/api")
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string) {
		t.Helper()
		if got, err := session.LeafOf(s.Path()); err != nil || got != s.Leaf() {
			t.Errorf("%s: %q, want %q; %v", what, got, s.Leaf(), err)
		}
	}
	same("empty")
	first, err := s.Append(session.UserMessage("one"))
	if err != nil {
		t.Fatal(err)
	}
	same("one entry")
	if _, err := s.Append(session.UserMessage("two")); err != nil {
		t.Fatal(err)
	}
	same("two entries")
	if err := s.MoveLeaf(first.ID); err != nil {
		t.Fatal(err)
	}
	same("a moved leaf")
	if err := s.MoveLeaf(""); err != nil {
		t.Fatal(err)
	}
	same("a leaf before the beginning")
	if _, err := s.Append(session.UserMessage("three")); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(s.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"torn`); err != nil {
		t.Fatal(err)
	}
	same("a torn line")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", l.Dir, filepath.Join(l.Dir, "missing")} {
		if _, err := session.LeafOf(path); err == nil {
			t.Errorf("%q has a leaf", path)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
