package both_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/conversations/back"
	"github.com/turnback/turnback/internal/conversations/both"
)

func TestARecordComesBackAndGoes(t *testing.T) {
	s := both.Shelf{Dir: filepath.Join(t.TempDir(), "turnback", "restores"), Now: time.Now}
	want := both.New("/src/api", back.Mark{Place: back.Place{N: 2, Agent: "claude", Session: "5f2c", At: `{"uuid":"a1"}`}, Copy: "77aa", Path: "/p/77aa.jsonl", Kept: true})
	if err := s.Write(want); err != nil {
		t.Fatal(err)
	}
	got, ok, err := s.Find(want.Tag, "/src/api")
	if err != nil || !ok || got.Written.IsZero() {
		t.Fatalf("%+v, %v, %v", got, ok, err)
	}
	if diff := cmp.Diff(want.Mark, got.Mark); diff != "" {
		t.Errorf("it came back as another (- want, + got):\n%s", diff)
	}
	for path, mode := range map[string]os.FileMode{s.Dir: 0o700, filepath.Join(s.Dir, want.Tag+".json"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if _, ok, err := s.Find(want.Tag, "/src/other"); ok || err != nil {
		t.Errorf("another work tree has it: %v, %v", ok, err)
	}
	for range 2 {
		if err := s.Remove(want.Tag); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok, err := s.Find(want.Tag, "/src/api"); ok || err != nil {
		t.Errorf("still there: %v, %v", ok, err)
	}
}

// TestATagOfARepositoryLeadsNowhere looks for tags as a journal that came with a
// repository can have them.
func TestATagOfARepositoryLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	s := both.Shelf{Dir: filepath.Join(dir, "restores"), Now: time.Now}
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	record := []byte(`{"tag":"../x","worktree":"/src/api","format":1}`)
	for _, path := range []string{filepath.Join(dir, "x.json"), filepath.Join(s.Dir, "future.json")} {
		if err := os.WriteFile(path, record, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tag := range []string{"", "../x", "a/b", "a.b", "\x00", "future"} {
		if r, ok, _ := s.Find(tag, "/src/api"); ok {
			t.Errorf("%q leads to %+v", tag, r)
		}
	}
	if err := s.Remove("../x"); err == nil {
		t.Error("it is removed")
	}
	if _, err := os.Stat(filepath.Join(dir, "x.json")); err != nil {
		t.Error(err)
	}
}

func TestWhatNobodyEndedGoesInTime(t *testing.T) {
	now := time.Now()
	s := both.Shelf{Dir: t.TempDir(), Now: func() time.Time { return now }}
	old, fresh := both.New("/a", back.Mark{}), both.New("/b", back.Mark{})
	if err := s.Write(old); err != nil {
		t.Fatal(err)
	}
	now = now.Add(80 * 24 * time.Hour)
	if err := s.Write(fresh); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Find(old.Tag, "/a"); !ok || err != nil {
		t.Errorf("it has gone after 80 days: %v", err)
	}
	now = now.Add(20 * 24 * time.Hour)
	if err := s.Write(fresh); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Find(old.Tag, "/a"); ok || err != nil {
		t.Errorf("it is there after 100 days, %v", err)
	}
	if _, ok, err := s.Find(fresh.Tag, "/b"); !ok || err != nil {
		t.Errorf("the fresh one has gone: %v", err)
	}
	if err := (both.Shelf{}).Write(fresh); err == nil {
		t.Error("it is written nowhere")
	}
}
