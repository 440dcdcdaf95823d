package session_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/conversation/session"
)

// write puts other content into the closed session's file.
func (h *harness) write(data []byte) {
	h.t.Helper()
	h.must(h.s.Close())
	h.must(os.WriteFile(h.s.Path(), data, 0o600))
}

func (h *harness) file() []byte {
	h.t.Helper()
	data, err := os.ReadFile(h.s.Path())
	h.must(err)
	return data
}

func threeTurns(t *testing.T) *harness {
	h := newHarness(t)
	for _, text := range []string{"one", "two", "three"} {
		h.user(text)
		h.says("answer to " + text)
	}
	return h
}

func TestB148ACorruptLineInTheMiddle(t *testing.T) {
	for name, c := range map[string]struct {
		change func(line string) string
		says   string
	}{
		"no JSON":        {func(line string) string { return line[:20] }, "unexpected end"},
		"garbage":        {func(string) string { return "\x00\x00" }, "invalid character"},
		"empty":          {func(string) string { return "" }, "unexpected end"},
		"no entry":       {func(string) string { return "{}" }, "no id"},
		"no message":     {func(string) string { return `{"id":"x","parentId":"","type":"message"}` }, "nothing in it"},
		"other parent":   {func(line string) string { return strings.Replace(line, `"parentId":"`, `"parentId":"z`, 1) }, "parent"},
		"no such target": {func(string) string { return `{"id":"x","parentId":"","type":"leaf","targetId":"y"}` }, "target"},
	} {
		t.Run(name, func(t *testing.T) {
			h := threeTurns(t)
			lines := strings.SplitAfter(string(h.file()), "\n")
			lines[3] = c.change(lines[3]) + "\n"
			h.write([]byte(strings.Join(lines, "")))
			for _, open := range []func(string) (*session.Session, error){h.lib.Open, h.lib.Read} {
				_, err := open(h.s.ID())
				var corrupt *session.CorruptError
				if !errors.As(err, &corrupt) || corrupt.Line != 4 {
					t.Fatalf("opened: %v", err)
				}
				if !strings.Contains(err.Error(), h.s.Path()+": line 4: ") || !strings.Contains(err.Error(), c.says) {
					t.Errorf("it says %q", err)
				}
			}
			if got := string(h.file()); got != strings.Join(lines, "") {
				t.Error("the damaged file was changed")
			}
		})
	}
}

func TestB148AnEntryTwice(t *testing.T) {
	h := threeTurns(t)
	lines := strings.SplitAfter(string(h.file()), "\n")
	lines[4] = lines[3]
	h.write([]byte(strings.Join(lines, "")))
	if _, err := h.lib.Open(h.s.ID()); err == nil || !strings.Contains(err.Error(), "line 5") {
		t.Errorf("opened: %v", err)
	}
}

func TestATornLastLineIsDropped(t *testing.T) {
	h := threeTurns(t)
	whole := h.file()
	cut := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	before := whole[:cut]
	for name, torn := range map[string][]byte{
		"half a line":        whole[cut : cut+30],
		"with its end":       append(bytes.Clone(whole[cut:cut+30]), '\n'),
		"blocks not written": make([]byte, 4096),
		"one byte":           []byte("{"),
	} {
		t.Run(name, func(t *testing.T) {
			h.write(append(bytes.Clone(before), torn...))
			s, err := h.lib.Open(h.s.ID())
			h.must(err)
			h.s = s
			if got := shown(s.Context()); strings.Count(got, "answer") != 2 || !strings.Contains(got, "three") {
				t.Errorf("context:\n%s", got)
			}
			h.user("behind it")
			h.same()
			if !bytes.HasPrefix(h.file(), before) || bytes.Contains(h.file(), torn[:1:1]) && bytes.Count(h.file(), []byte("\n")) != bytes.Count(before, []byte("\n"))+1 {
				t.Errorf("file:\n%s", h.file())
			}
			kept, err := os.ReadFile(h.s.Path() + ".torn")
			h.must(err)
			if !bytes.Contains(kept, bytes.TrimSuffix(torn, []byte("\n"))) {
				t.Error("what was torn off is not kept")
			}
		})
	}
}

// A whole line that lacks its line feed is no torn one.
func TestALastLineWithoutItsEnd(t *testing.T) {
	h := threeTurns(t)
	whole := h.file()
	h.write(whole[:len(whole)-1])
	s, err := h.lib.Open(h.s.ID())
	h.must(err)
	h.s = s
	if !strings.Contains(shown(s.Context()), "answer to three") {
		t.Error("the last line is lost")
	}
	h.user("behind it")
	h.same()
	if !bytes.HasPrefix(h.file(), whole) {
		t.Errorf("file:\n%s", h.file())
	}
}

func TestALaterVersionIsNotOpened(t *testing.T) {
	h := threeTurns(t)
	h.write(bytes.Replace(h.file(), []byte(`"version":1`), []byte(`"version":2`), 1))
	if _, err := h.lib.Open(h.s.ID()); err == nil || !strings.Contains(err.Error(), "line 1: version 2 is later") {
		t.Errorf("opened: %v", err)
	}
}

func TestEntriesOfAnUnknownTypeAreLetBe(t *testing.T) {
	h := threeTurns(t)
	h.write(append(h.file(), []byte(`{"id":"new1","parentId":"`+h.s.Leaf()+`","type":"mood","mood":"good"}`+"\n")...))
	s, err := h.lib.Open(h.s.ID())
	h.must(err)
	h.s = s
	h.user("behind it")
	h.same()
	if got := shown(s.Context()); strings.Count(got, "\n") != 7 {
		t.Errorf("context:\n%s", got)
	}
}

func TestListAndFind(t *testing.T) {
	h := newHarness(t)
	h.user("first prompt\nwith a second line")
	first := h.s.ID()
	other, err := h.lib.Create("/src/other")
	h.must(err)
	h.must(other.Close())
	newest, err := h.lib.Create("/src/app")
	h.must(err)
	h.must(newest.Close())
	for i, id := range []string{newest.ID(), other.ID(), first} {
		at := time.Now().Add(-time.Duration(i) * time.Minute)
		h.must(os.Chtimes(filepath.Join(h.lib.Dir, id+".jsonl"), at, at))
	}
	h.must(os.WriteFile(filepath.Join(h.lib.Dir, "notes.jsonl"), []byte("{}\n"), 0o600))
	h.must(os.WriteFile(filepath.Join(h.lib.Dir, "copy.jsonl"), h.file(), 0o600))

	list := func(cwd string) string {
		infos, err := h.lib.List(cwd)
		h.must(err)
		var ids []string
		for _, info := range infos {
			ids = append(ids, info.ID)
			if want := map[bool]string{true: "first prompt"}[info.ID == first]; info.Title != want {
				t.Errorf("title %q, want %q", info.Title, want)
			}
		}
		return strings.Join(ids, " ")
	}
	if got, want := list("/src/app"), newest.ID()+" "+first; got != want {
		t.Errorf("of the directory: %s, want %s", got, want)
	}
	if got, want := list(""), newest.ID()+" "+other.ID()+" "+first; got != want {
		t.Errorf("all: %s, want %s", got, want)
	}
	if infos, err := (session.Library{Dir: filepath.Join(h.lib.Dir, "none")}).List(""); err != nil || infos != nil {
		t.Errorf("no folder: %v, %v", infos, err)
	}

	entry := h.s.Leaf()
	for name, want := range map[string]session.Place{
		first:                           {Session: first},
		first[:len(first)-1]:            {Session: first},
		first + "/" + entry:             {Session: first, Entry: entry},
		entry:                           {Session: first, Entry: entry},
		"":                              {},
		"2026":                          {},
		"nowhere":                       {},
		"nowhere/" + entry:              {},
		"../" + filepath.Base("x"):      {},
		strings.Repeat("0", len(first)): {},
	} {
		got, err := h.lib.Find(name)
		if got != want || (err != nil) != (want == session.Place{}) {
			t.Errorf("find %q: %+v, %v", name, got, err)
		}
	}
	for _, id := range []string{"", "nowhere", "../conversations/" + first, "." + first} {
		if _, err := h.lib.Open(id); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("open %q: %v", id, err)
		}
	}
}

func TestB145AForkAtAnEarlierEntry(t *testing.T) {
	h := threeTurns(t)
	at := h.s.Branch()[3].ID
	fork, err := h.lib.Fork(h.s.ID(), at, "/src/app")
	h.must(err)
	h.must(fork.Close())
	fork, err = h.lib.Open(fork.ID())
	h.must(err)
	defer fork.Close()
	if text := shown(fork.Context()); strings.Contains(text, "three") || !strings.Contains(text, "answer to two") {
		t.Errorf("context:\n%s", text)
	}
	if got := fork.Header(); got.ParentSession != h.s.ID() || got.ParentEntry != at {
		t.Errorf("header: %+v", got)
	}
	if _, err := h.lib.Fork(h.s.ID(), "nowhere", "/"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("fork at an entry that is not there: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(h.lib.Dir, "*.jsonl"))
	h.must(err)
	if len(files) != 2 {
		t.Errorf("files: %q", files)
	}
}
