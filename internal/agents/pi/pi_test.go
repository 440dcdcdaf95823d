package pi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/pi"
)

const session = "019a0000-aaaa-7bbb-8ccc-000000000001"

const head = `{"type":"session","version":3,"id":"` + session + `","timestamp":"2026-11-30T10:00:00.000Z","cwd":"/src/api","metadata":{"n":9007199254740993}}`

// parents tells an entry's parent as it stands in a file.
func parentOf(parent string) string {
	if parent == "" {
		return "null"
	}
	return `"` + parent + `"`
}

func said(id, parent, role, content string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-11-30T10:00:01.500Z","message":{"role":%q,"content":%s}}`, id, parentOf(parent), role, content)
}

func called(id, parent, call, tool, arguments string) string {
	return said(id, parent, "assistant", fmt.Sprintf(`[{"type":"text","text":"so"},{"type":"toolCall","id":%q,"name":%q,"arguments":%s}]`, call, tool, arguments))
}

func answered(id, parent, call, text string, failed bool) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-11-30T10:00:02.000Z","message":{"role":"toolResult","toolCallId":%q,"content":[{"type":"text","text":%q}],"isError":%v}}`,
		id, parentOf(parent), call, text, failed)
}

func compacted(id, parent, kept string) string {
	return fmt.Sprintf(`{"type":"compaction","id":%q,"parentId":%s,"timestamp":"2026-11-30T10:00:03.000Z","summary":"Checkpoint created.","firstKeptEntryId":%q}`, id, parentOf(parent), kept)
}

// file is a session file, in a folder as pi has it.
func file(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent", "sessions", "--src-api--", "2026-11-30T10-00-00-000Z_"+session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(append([]string{head}, lines...), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	created   = conversation.CreatedText("g")
	requested = conversation.RewindText()
)

func TestHistoryTellsTheState(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 10, 0, 1, 500_000_000, time.UTC)
	open := conversation.State{Open: &conversation.Open{CallID: "t1", Goal: "g", StartedAt: at, Boundary: &conversation.Boundary{}}}
	asked := []string{said("u1", "", "user", `"go"`), called("a1", "u1", "t1", "turnback_checkpoint", `{"goal":" g "}`)}
	opened := append(asked[:2:2], answered("r1", "a1", "t1", created, false))
	explored := append(opened[:3:3],
		called("a2", "r1", "x1", "read", `{}`), answered("r2", "a2", "x1", "text", false),
		called("a3", "r2", "t2", "turnback_rewind", `{"report":"found it"}`))
	for name, c := range map[string]struct {
		lines []string
		want  conversation.State
	}{
		"nothing":                   {nil, conversation.State{}},
		"a call without its result": {asked, conversation.State{}},
		"open":                      {opened, open},
		"refused":                   {append(asked[:2:2], answered("r1", "a1", "t1", "Goal cannot be empty.", true)), conversation.State{}},
		"a failure that says so":    {append(asked[:2:2], answered("r1", "a1", "t1", created, true)), conversation.State{}},
		"rewound": {
			append(explored[:6:6], answered("r3", "a3", "t2", requested, false)),
			conversation.State{Completed: &conversation.Report{CallID: "t2", Checkpoint: "t1", Text: "found it"}},
		},
		"on another branch":     {append(opened[:3:3], said("u2", "u1", "user", `"anew"`)), conversation.State{}},
		"a branch that is left": {append(asked[:1:1], called("b1", "u1", "t9", "turnback_checkpoint", `{"goal":"x"}`), answered("b2", "b1", "t9", created, false), called("a1", "u1", "t1", "turnback_checkpoint", `{"goal":"g"}`), answered("r1", "a1", "t1", created, false)), open},
		"compacted": {
			append(opened[:3:3], said("u2", "r1", "user", `"on"`), compacted("c1", "u2", "u2")),
			conversation.State{Lost: &conversation.Open{CallID: "t1", Goal: "g", StartedAt: at, Boundary: &conversation.Boundary{}}},
		},
		"compacted, and nothing kept": {
			append(opened[:3:3], compacted("c1", "r1", "c1")),
			conversation.State{Lost: &conversation.Open{CallID: "t1", Goal: "g", StartedAt: at, Boundary: &conversation.Boundary{}}},
		},
		"compacted before it":       {append([]string{said("u0", "", "user", `"hi"`), compacted("c0", "u0", "c0"), said("u1", "c0", "user", `"go"`)}, opened[1:]...), open},
		"compacted, but it is kept": {append(opened[:3:3], said("u2", "r1", "user", `"on"`), compacted("c1", "u2", "a1")), open},
		"a torn last line":          {append(opened[:3:3], `{"type":"message","id":"a2","parentId":"r1","mess`), open},
		"a ring":                    {append(opened[:3:3], said("q1", "q2", "user", `"a"`), said("q2", "q1", "user", `"b"`)), conversation.State{}},
	} {
		h, err := pi.Adapter{}.History(file(t, c.lines...))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, h.State()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Of two turns and a branch that was left, the copy of the first turn has the
// entries of that turn alone, byte for byte, below a head of its own.
func TestACopyIsTheBranchAlone(t *testing.T) {
	t.Parallel()
	odd := `{ "type":"message","id":"u1","parentId":null, "timestamp":"2026-11-30T10:00:00.500Z","message":{"role":"user","content":"<a> \u003c 1.0","n":9007199254740993}}`
	lines := []string{
		odd,
		called("b1", "u1", "x", "read", `{}`), // left
		said("a1", "u1", "assistant", `[{"type":"text","text":"one"}]`),
		said("u2", "a1", "user", `"second"`),
		said("a2", "u2", "assistant", `[{"type":"text","text":"two"}]`),
	}
	path := file(t, lines...)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "kept.jsonl")
	if err := os.WriteFile(kept, before, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, gone := range map[string]bool{"of the agent's own": false, "of the kept one": true} {
		copied, err := pi.Adapter{}.Copy(session, pi.PlaceAt(path, "a1"))
		if gone {
			if err := os.RemoveAll(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			copied, err = pi.Adapter{}.CopyKept(session, pi.PlaceAt(path, "a1"), kept, path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := copied.Keep(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(copied.Path())
		if err != nil {
			t.Fatal(err)
		}
		want := `{"cwd":"/src/api","id":"` + copied.Session() + `","metadata":{"n":9007199254740993},"parentSession":"` + path +
			`","timestamp":"2026-11-30T10:00:01.500Z","type":"session","version":3}` + "\n" + lines[0] + "\n" + lines[2] + "\n"
		if string(text) != want {
			t.Errorf("%s: the copy is\n%s\nwant\n%s", name, text, want)
		}
		if got := filepath.Base(copied.Path()); got != "2026-11-30T10-00-01-500Z_"+copied.Session()+".jsonl" || filepath.Dir(copied.Path()) != filepath.Dir(path) {
			t.Errorf("%s: it is at %s", name, copied.Path())
		}
		if err := copied.Drop(); err != nil {
			t.Error(err)
		}
		after, err := os.ReadFile(path)
		if !gone && (err != nil || string(after) != string(before)) {
			t.Errorf("the original has changed, %v", err)
		}
	}
}

func TestACopyCountsItsSpans(t *testing.T) {
	t.Parallel()
	path := file(t,
		said("u1", "", "user", `"go"`), called("a1", "u1", "t1", "turnback_checkpoint", `{"goal":"g"}`), answered("r1", "a1", "t1", created, false),
		called("a2", "r1", "t2", "turnback_rewind", `{"report":"R"}`), answered("r2", "a2", "t2", requested, false))
	for at, want := range map[string]int{"r2": 1, "r1": 0} {
		copied, err := pi.Adapter{}.Copy(session, pi.PlaceAt(path, at))
		if err != nil {
			t.Fatal(err)
		}
		if copied.Spans() != want {
			t.Errorf("up to %s: %d spans, want %d", at, copied.Spans(), want)
		}
		if err := copied.Drop(); err != nil {
			t.Error(err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("dropped copies left %v, %v", left, err)
	}
}

func TestRefusedPlaces(t *testing.T) {
	t.Parallel()
	path := file(t, said("u1", "", "user", `"go"`))
	other := filepath.Join(filepath.Dir(path), "x_other.jsonl")
	if err := os.WriteFile(other, []byte(head+"\n"+said("u1", "", "user", `"go"`)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(filepath.Dir(path), "link_"+session+".jsonl")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(filepath.Dir(path), "none_"+session+".jsonl")
	if err := os.WriteFile(none, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	torn := filepath.Join(filepath.Dir(path), "torn_"+session+".jsonl")
	text := head + "\n" + said("u1", "", "user", `"go"`) + "\n{\"type\":\"message\",\"id\":\"a1\",\n" + said("u2", "a1", "user", `"on"`) + "\n"
	if err := os.WriteFile(torn, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ session, place, says string }{
		"a broken branch":     {session, pi.PlaceAt(torn, "u2"), "what the session had before entry u2 cannot be read"},
		"no place":            {session, "{", "cannot be read"},
		"no entry":            {session, `{"path":"` + path + `"}`, "cannot be read"},
		"an entry that left":  {session, pi.PlaceAt(path, "u9"), "no longer has the entry"},
		"another's file":      {"019a", pi.PlaceAt(path, "u1"), "is not the file of session 019a"},
		"another's head":      {"other", pi.PlaceAt(other, "u1"), "is that of session " + session},
		"a link":              {session, pi.PlaceAt(link, "u1"), "no file that can be read"},
		"a relative path":     {session, pi.PlaceAt("x_"+session+".jsonl", "u1"), "is not the file"},
		"a session as a path": {"../" + session, pi.PlaceAt("/x_../"+session+".jsonl", "u1"), "is not the file"},
		"no session file":     {session, pi.PlaceAt(none, "u1"), "does not begin as a session"},
		"gone":                {session, pi.PlaceAt(filepath.Dir(path)+"/gone_"+session+".jsonl", "u1"), "no such file"},
	} {
		copied, err := pi.Adapter{}.Copy(c.session, c.place)
		if err == nil || copied != nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestTranscriptsAreOpenedInPisFolderAlone(t *testing.T) {
	t.Parallel()
	path := file(t, said("u1", "", "user", `"go"`))
	folder := filepath.Dir(filepath.Dir(filepath.Dir(path)))
	home := t.TempDir()
	if err := os.Symlink(filepath.Dir(folder), filepath.Join(home, ".pi")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		says string
	}{
		"where it is told":      {map[string]string{"PI_CODING_AGENT_DIR": folder, "HOME": "/nowhere"}, ""},
		"in the home":           {map[string]string{"HOME": home}, ""},
		"elsewhere":             {map[string]string{"PI_CODING_AGENT_DIR": filepath.Dir(path)}, "not in the agent's own folder"},
		"in a relative folder":  {map[string]string{"PI_CODING_AGENT_DIR": "agent"}, "no absolute path"},
		"with no home to speak": {nil, "no absolute path"},
	} {
		f, at, err := pi.Adapter{}.OpenTranscript(func(name string) string { return c.env[name] }, session, pi.PlaceAt(path, "u1"))
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || at != path {
			t.Errorf("%s: %s, %v", name, at, err)
			continue
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
