package transcripts_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/agents/claude"
	"github.com/turnback/turnback/internal/conversations/transcripts"
)

// place is a shelf, and the folder of an agent whose transcripts it copies.
type place struct {
	*testing.T
	transcripts.Shelf
	home    string // of the agent
	limits  transcripts.Limits
	at      time.Time
	project string
}

var here = transcripts.Link{Worktree: "/src/api", CommonDir: "/src/api/.git"}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{T: t, home: t.TempDir(), at: time.Now()}
	p.limits = transcripts.Limits{Keep: true, Each: -1, Total: -1, For: 30 * 24 * time.Hour}
	p.project = filepath.Join(p.home, "projects", "-src-api")
	if err := os.MkdirAll(p.project, 0o700); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": p.home}[name] }
	p.Shelf = transcripts.Shelf{
		Dir: filepath.Join(t.TempDir(), "transcripts"), Now: func() time.Time { return p.at },
		Limits: func() transcripts.Limits { return p.limits },
		Open: func(_, session, at string) (*os.File, string, error) {
			return claude.New().OpenTranscript(env, session, at)
		},
	}
	return p
}

func (p *place) path(session string) string { return filepath.Join(p.project, session+".jsonl") }

func (p *place) write(path, text string) {
	p.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *place) addFrom(session, path string) error {
	at, err := json.Marshal(claude.Place{Path: path, UUID: "u"})
	if err != nil {
		p.Fatal(err)
	}
	return p.Add(p.Context(), "claude", session, string(at), here)
}

// add writes the transcript of a session and has it copied.
func (p *place) add(session, text string) {
	p.Helper()
	p.write(p.path(session), text)
	if err := p.addFrom(session, p.path(session)); err != nil {
		p.Fatal(err)
	}
}

// copied is what the copy of a session has; "none" when there is none.
func (p *place) copied(session string) string {
	p.Helper()
	c, ok, err := p.Find("claude", session)
	if err != nil {
		p.Fatal(err)
	}
	if !ok {
		return "none"
	}
	text, err := os.ReadFile(c.File)
	if err != nil {
		p.Fatal(err)
	}
	return string(text)
}

func (p *place) want(session, text string) {
	p.Helper()
	if got := p.copied(session); got != text {
		p.Errorf("the copy of %s has %q, want %q", session, got, text)
	}
}

func TestACopyGrowsWithItsTranscript(t *testing.T) {
	p := newPlace(t)
	p.add("s1", "one\n")
	p.want("s1", "one\n")
	before, _, _ := p.Find("claude", "s1")
	was, err := os.Stat(before.File)
	if err != nil {
		t.Fatal(err)
	}
	p.add("s1", "one\ntwo\nhalf a li")
	p.want("s1", "one\ntwo\n")
	if is, err := os.Stat(before.File); err != nil || !os.SameFile(was, is) {
		t.Errorf("the copy was made anew: %v", err)
	}
	p.add("s1", "one\ntwo\nhalf a line\n")
	p.want("s1", "one\ntwo\nhalf a line\n")
	c, _, _ := p.Find("claude", "s1")
	if c.Path != p.path("s1") || len(c.Links) != 1 || c.Links[0] != here || !c.Last.Equal(p.at) || c.Full {
		t.Errorf("known of it: %+v", c)
	}
}

func TestATranscriptThatWasRewrittenIsCopiedAnew(t *testing.T) {
	p := newPlace(t)
	long := strings.Repeat("x", 600<<10) + "\n"
	for _, text := range []string{"one\ntwo\n", "one\n", "ONE\ntwo\nthree\n", long + "a\n", long + "b\nc\n", ""} {
		p.add("s1", text)
		p.want("s1", text)
	}
}

func TestCopiesAreThePersonsAlone(t *testing.T) {
	p := newPlace(t)
	p.add("s1", "one\n")
	p.add("s1", "two\n") // anew
	modes := map[string]os.FileMode{}
	err := filepath.WalkDir(p.Dir, func(path string, e os.DirEntry, err error) error {
		info, ierr := e.Info()
		modes[filepath.Base(path)] = info.Mode().Perm()
		if want := map[bool]os.FileMode{true: 0o700, false: 0o600}[e.IsDir()]; ierr == nil && info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", e.Name(), info.Mode().Perm())
		}
		return err
	})
	if err != nil || len(modes) != 4 { // the folder, the lock, the copy, what is known of it
		t.Errorf("%v, %v", modes, err)
	}
}

func TestWhatIsNoTranscriptOfTheAgentIsNotCopied(t *testing.T) {
	p := newPlace(t)
	outside := t.TempDir()
	p.write(filepath.Join(outside, "s1.jsonl"), "secret\n")
	p.write(p.path("other"), "of another session\n")
	p.write(filepath.Join(p.home, "s1.jsonl"), "not below projects\n")
	if err := os.Symlink(filepath.Join(outside, "s1.jsonl"), p.path("s1")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.path("other"), p.path("s2")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.home, "projects", "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(p.project, filepath.Join(p.home, "projects", "in")); err != nil {
		t.Fatal(err)
	}
	p.write(p.path("s4"), "x\n")
	if err := os.Mkdir(p.path("s5"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string][2]string{
		"outside":                    {"s1", filepath.Join(outside, "s1.jsonl")},
		"a link out":                 {"s1", p.path("s1")},
		"a link to another":          {"s2", p.path("s2")},
		"through a linked folder":    {"s1", filepath.Join(p.home, "projects", "out", "s1.jsonl")},
		"a link within":              {"s4", filepath.Join(p.home, "projects", "in", "s4.jsonl")},
		"above":                      {"s1", filepath.Join(p.home, "s1.jsonl")},
		"by dots":                    {"s1", p.project + "/../../s1.jsonl"},
		"another session's":          {"s3", p.path("other")},
		"a folder":                   {"s5", p.path("s5")},
		"gone":                       {"s6", p.path("s6")},
		"a session that is a path":   {"../other", p.path("../other")},
		"a folder that is not there": {"s1", filepath.Join(p.home, "projects", "new", "s1.jsonl")},
	} {
		if err := p.addFrom(at[0], at[1]); err == nil {
			t.Errorf("%s: copied", name)
		}
		p.want(at[0], "none")
	}
	all, err := p.List()
	if len(all) != 0 || err != nil {
		t.Errorf("%+v, %v", all, err)
	}
}

// The agent's folder itself may be a link: people keep their settings elsewhere.
func TestTheAgentsFolderMayBeALink(t *testing.T) {
	p := newPlace(t)
	real := p.home
	p.home = filepath.Join(t.TempDir(), "claude")
	if err := os.Symlink(real, p.home); err != nil {
		t.Fatal(err)
	}
	p.write(p.path("s1"), "one\n")
	for _, path := range []string{p.path("s1"), filepath.Join(p.home, "projects", "-src-api", "s1.jsonl")} {
		if err := p.addFrom("s1", path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	p.want("s1", "one\n")
}

func TestLimitsOfCopies(t *testing.T) {
	p := newPlace(t)
	p.limits.Each = 10
	p.add("s1", "12345\n")
	p.write(p.path("s1"), "12345\n789\nmore\n")
	if err := p.addFrom("s1", p.path("s1")); err == nil || !strings.Contains(err.Error(), "larger than 10 bytes") {
		t.Errorf("a transcript that is too large: %v", err)
	}
	p.want("s1", "12345\n789\n")
	p.add("s1", "12345\n789\nmore\nand more\n") // told once
	p.want("s1", "12345\n789\n")
	p.limits.Each = 3
	if err := p.addFrom("s1", p.path("s1")); err != nil {
		t.Fatal(err)
	}
	p.want("s1", "12345\n789\n") // what it has stays

	p.limits.Each, p.limits.Total = -1, 20
	p.at = p.at.Add(time.Hour)
	p.add("s2", "0123456789\n")
	p.want("s1", "none") // quiet longest
	p.want("s2", "0123456789\n")
	p.at = p.at.Add(time.Hour)
	p.add("s3", "123\n")
	p.want("s2", "0123456789\n")

	p.limits.Keep = false
	p.add("s4", "x\n")
	p.want("s4", "none")
	p.want("s3", "123\n") // until it is tidied
}

func TestTidyDropsWhatIsKeptForNothing(t *testing.T) {
	p := newPlace(t)
	for _, session := range []string{"old", "unlinked", "stays"} {
		if session == "unlinked" {
			p.at = p.at.Add(20 * 24 * time.Hour)
		}
		p.add(session, session+"\n")
	}
	p.write(filepath.Join(p.Dir, ".new-123"), "of a write that was killed")
	p.write(filepath.Join(p.Dir, "0123.jsonl"), "of nothing that is known")
	p.at = p.at.Add(15 * 24 * time.Hour)
	linked := func(c transcripts.Copy) bool { return c.Session != "unlinked" }
	if err := p.Tidy(t.Context(), linked); err != nil {
		t.Fatal(err)
	}
	p.want("old", "none")
	p.want("unlinked", "none")
	p.want("stays", "stays\n")
	if left, _ := filepath.Glob(filepath.Join(p.Dir, "[^.]*")); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Lstat(filepath.Join(p.Dir, ".new-123")); err == nil {
		t.Error("half of a copy stays")
	}
	p.limits.Keep = false
	if err := p.Tidy(t.Context(), linked); err != nil {
		t.Fatal(err)
	}
	p.want("stays", "none")
}

func TestWhatWasRemovedDoesNotComeBack(t *testing.T) {
	p := newPlace(t)
	p.add("s1", "secret\n")
	c, _, err := p.Find("claude", "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Remove(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	p.want("s1", "none")
	p.add("s1", "secret\nmore\n")
	p.want("s1", "none")
	if names, err := filepath.Glob(filepath.Join(p.Dir, "[^.]*")); err != nil || len(names) != 1 {
		t.Errorf("left: %v, %v", names, err)
	}
	p.at = p.at.Add(31 * 24 * time.Hour)
	if err := p.Tidy(context.Background(), func(transcripts.Copy) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if names, _ := filepath.Glob(filepath.Join(p.Dir, "[^.]*")); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

func TestWhichCopiesMentionAPath(t *testing.T) {
	p := newPlace(t)
	there := transcripts.Link{Worktree: "/src/other", CommonDir: "/src/other/.git"}
	p.add("reads", strings.Repeat("x", 256<<10-6)+`{"command":"cd keys && cat secret.env"}`+"\n")
	p.add("silent", "{\"text\":\"nothing\"}\n")
	p.add("whole", "{\"path\":\"/src/other/keys/secret.env\"}\n")
	for _, c := range []struct {
		link transcripts.Link
		path string
		want string
	}{
		{here, "keys/secret.env", "reads whole"},
		{here, "other.env", ""},
		{here, "keys/sécret", "reads silent whole"}, // may be written in several ways
		{here, `a"b`, "reads silent whole"},
		{here, "bad\xff", "reads silent whole"},
		{there, "keys/secret.env", "whole"},
		{there, "secret.env", ""},
		{there, "keys/sécret", ""},
	} {
		found, err := p.Mentioning(c.link, c.path)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range found {
			names = append(names, f.Session)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.path, c.link.Worktree, got, c.want)
		}
	}
	c, _, err := p.Find("claude", "silent")
	if err != nil {
		t.Fatal(err)
	}
	p.write(strings.TrimSuffix(c.File, "l"), "damaged")
	if _, err := p.Mentioning(here, "keys/secret.env"); err == nil {
		t.Error("a copy that cannot be looked at is passed over")
	}
}
