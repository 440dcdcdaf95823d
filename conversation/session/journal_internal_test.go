package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A write that fails leaves nothing in the file and nothing in memory; when the
// file cannot be put right again, nothing more is written behind the break.
func TestAFailedAppend(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no file that is always full: %v", err)
	}
	defer full.Close()
	s := Library{Now: func() (now time.Time) { return now }}.session("file", &content{})
	s.journal = &journal{file: full}
	if _, err := s.Append(UserMessage("x")); err == nil {
		t.Fatal("the append succeeds on a full disk")
	}
	if len(s.Entries()) != 0 || s.Leaf() != "" || len(s.Context()) != 0 {
		t.Errorf("the message is in memory: %+v", s.Context())
	}
	if s.journal.err == nil {
		t.Fatal("it is not known that the end of the file is in doubt")
	}
	good, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	s.journal.file = good
	if _, err := s.Append(UserMessage("x")); err == nil {
		t.Error("a line is written behind the break")
	}
}

// Half of a line is taken out of the file again.
func TestHalfALineIsTakenBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("whole\nhalf"), 0o600); err != nil {
		t.Fatal(err)
	}
	reading, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Close()
	j := &journal{file: reading, size: 6}
	if j.append([]byte("x\n")) == nil || j.err == nil {
		t.Error("a file that is only read is written")
	}
	writing, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	j = &journal{file: writing, size: 6}
	if err := j.restore(); err != nil {
		t.Fatal(err)
	}
	if err := j.append([]byte("next\n")); err != nil {
		t.Fatal(err)
	}
	if err := writing.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "whole\nnext\n" {
		t.Errorf("file: %q", got)
	}
}
