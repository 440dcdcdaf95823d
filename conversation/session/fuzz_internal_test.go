package session

import (
	"bytes"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever a file has in it: no panic; every line that is whole is an entry, or
// the file is refused by the line that is none; and the context is one that
// providers take.
func FuzzLoad(f *testing.F) {
	head := `{"type":"session","version":1,"id":"s","cwd":"/"}` + "\n"
	user := `{"id":"a","parentId":"","type":"message","message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}` + "\n"
	call := `{"id":"b","parentId":"a","type":"message","message":{"role":"assistant","parts":[{"kind":"call","call":"c","name":"checkpoint","arguments":"{\"goal\":\"g\"}"}]}}` + "\n"
	result := `{"id":"c","parentId":"b","type":"message","message":{"role":"tool","parts":[{"kind":"result","call":"c","content":[{"kind":"text","text":"Checkpoint created.\nGoal: g"}]}]}}` + "\n"
	rewind := `{"id":"d","parentId":"c","type":"branch_summary","rewind":{"fromId":"c","rewindId":"b","call":"r","checkpoint":"c","report":"x","kept":[{"role":"tool","parts":[{"kind":"result","call":"q"}]}]}}` + "\n"
	leaf := `{"id":"e","parentId":"d","type":"leaf","targetId":"a"}` + "\n"
	compaction := `{"id":"f","parentId":"d","type":"compaction","compaction":{"summary":"s","firstKept":"c"}}` + "\n"
	custom := `{"id":"g","parentId":"d","type":"custom","custom":"checkpoint_cleared","data":7}` + "\n"
	for _, seed := range []string{
		"", "\n", head, head + user, head + user + call + result + rewind + leaf, head + user + call + result + rewind + compaction + custom,
		head + user + call[:40], head + user[:40] + "\n" + call, head + user + user, head + "{}\n", head + "null\nnull", head + call, head + "\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parse("file", data)
		if err != nil {
			return
		}
		whole := bytes.Count(data[:c.whole], []byte("\n"))
		if !c.ended {
			whole++
		}
		if len(c.entries) != whole-1 {
			t.Fatalf("%d entries of %d whole lines", len(c.entries), whole)
		}
		if torn := bytes.TrimSuffix(data[c.whole:], []byte("\n")); bytes.Contains(torn, []byte("\n")) || json.Valid(torn) {
			t.Fatalf("left out as torn: %q", torn)
		}
		s := Library{Now: time.Now}.session("file", c)
		validPairs(t, s.Context())
		for _, e := range s.Entries() {
			s.leaf = e.ID
			s.derive()
			validPairs(t, s.Context())
		}
	})
}

// Whatever entries a branch has, what is sent is valid.
func FuzzContext(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyBranch)) }

func TestContextOfAnyBranch(t *testing.T) { rapid.Check(t, anyBranch) }

func anyBranch(t *rapid.T) {
	var entries []*Entry
	ids := []string{""}
	for i := range rapid.IntRange(1, 25).Draw(t, "entries") {
		e := anyEntry(t, ids)
		e.ID, e.ParentID = strconv.Itoa(i), ids[len(ids)-1]
		if rapid.IntRange(0, 9).Draw(t, "elsewhere") == 0 {
			e.ParentID = rapid.SampledFrom(ids).Draw(t, "parent")
		}
		entries, ids = append(entries, e), append(ids, e.ID)
	}
	s := Library{Now: time.Now}.session("file", &content{entries: entries})
	before, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	validPairs(t, s.Context())
	again := repair(s.Context())
	if a, b := asJSON(t, s.Context()), asJSON(t, again); a != b {
		t.Fatalf("what is repaired is repaired again, from\n%s\nto\n%s", a, b)
	}
	if s.Due() != nil {
		left := newSpan(s.branchAfter(s.State().Open.Boundary.EntryID), s.Due().CallID)
		for _, m := range left.kept {
			if len(m.Parts) == 0 {
				t.Fatal("an empty message is kept")
			}
		}
	}
	if after := asJSON(t, entries); after != string(before) {
		t.Fatalf("the entries changed from\n%s\nto\n%s", before, after)
	}
}

func (s *Session) branchAfter(id string) []*Entry {
	branch := s.Branch()
	for i, e := range branch {
		if e.ID == id {
			return branch[i+1:]
		}
	}
	return nil
}

func asJSON(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func anyEntry(t *rapid.T, ids []string) *Entry {
	id := rapid.SampledFrom(ids)
	call := rapid.SampledFrom([]string{"c1", "c2", "c3"})
	switch rapid.IntRange(0, 11).Draw(t, "type") {
	case 0:
		r := &Rewind{Checkpoint: call.Draw(t, "checkpoint"), CallID: call.Draw(t, "rewind"), Report: "r"}
		for range rapid.IntRange(0, 2).Draw(t, "kept") {
			r.Kept = append(r.Kept, anyMessage(t))
		}
		return &Entry{Type: TypeRewind, Rewind: r}
	case 1:
		return &Entry{Type: TypeCompaction, Compaction: &Compaction{Summary: "s", FirstKept: id.Draw(t, "first kept")}}
	case 2:
		return &Entry{Type: TypeLeaf, Target: id.Draw(t, "target")}
	case 3:
		return &Entry{Type: TypeCustom, Custom: CustomCleared, Data: json.RawMessage(`{"id":"c1"}`)}
	}
	m := anyMessage(t)
	return &Entry{Type: TypeMessage, Message: &m}
}

func anyMessage(t *rapid.T) Message {
	m := Message{Role: rapid.SampledFrom([]Role{RoleUser, RoleAssistant, RoleAssistant, RoleTool, RoleTool, RoleSystem}).Draw(t, "role")}
	call := rapid.SampledFrom([]string{"c1", "c2", "c3"})
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		p := Text(rapid.SampledFrom([]string{"", " ", "text"}).Draw(t, "text"))
		role := m.Role
		if rapid.IntRange(0, 9).Draw(t, "misfit") == 0 {
			role = RoleAssistant
		}
		switch role {
		case RoleAssistant:
			switch rapid.IntRange(0, 2).Draw(t, "part") {
			case 0:
				name := rapid.SampledFrom([]string{"read", "checkpoint", "rewind"}).Draw(t, "name")
				p = Part{Kind: KindCall, CallID: call.Draw(t, "call"), Name: name, Arguments: `{"goal":"g","report":"r"}`}
			case 1:
				p = Part{Kind: KindOpaque, Raw: json.RawMessage(`{}`)}
			}
		case RoleTool:
			if rapid.Bool().Draw(t, "result") {
				text := rapid.SampledFrom([]string{"x", "Checkpoint created.\nGoal: g", "Rewind requested."}).Draw(t, "result text")
				p = Part{Kind: KindResult, CallID: call.Draw(t, "call"), Content: []Part{Text(text)}}
				if rapid.IntRange(0, 3).Draw(t, "loads") == 0 {
					p.Loads = []string{"x"}
				}
			}
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

type fataler interface{ Fatalf(string, ...any) }

// validPairs wants the results of each message's calls directly behind it, in the
// order of the calls, no other results, and no message without content.
func validPairs(t fataler, messages []Message) {
	var waiting []Part
	for i, m := range messages {
		if len(m.Parts) == 0 {
			t.Fatalf("message %d is empty", i)
		}
		results := m.parts(KindResult)
		if len(results) != len(waiting) || len(results) > 0 && m.Role != RoleTool {
			t.Fatalf("message %d has %d results of %d calls", i, len(results), len(waiting))
		}
		for j, result := range results {
			if result.CallID != waiting[j].CallID {
				t.Fatalf("message %d: result %d is of the call %q, not of %q", i, j, result.CallID, waiting[j].CallID)
			}
		}
		if waiting = m.Calls(); len(waiting) > 0 && m.Role != RoleAssistant {
			t.Fatalf("message %d: calls of the role %q", i, m.Role)
		}
	}
	if len(waiting) > 0 {
		t.Fatalf("the last message's calls have no results")
	}
}
