package session_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/session"
)

const most = session.MaxText

// isCut wants a text within the limit that begins as the long one does and says
// how much is missing.
func isCut(t *testing.T, what, got, long string) {
	t.Helper()
	kept, notice, _ := strings.Cut(got, "\n[cut: ")
	if utf8.RuneCountInString(got) > most || !strings.HasPrefix(long, kept) || !strings.HasSuffix(notice, " more characters]") ||
		utf8.RuneCountInString(kept) < most-100 {
		t.Errorf("%s: %d characters, ending in %q", what, utf8.RuneCountInString(got), got[max(0, len(got)-60):])
	}
}

func TestLongTextsAreCut(t *testing.T) {
	h := newHarness(t)
	fits, long := strings.Repeat("é", most), strings.Repeat("é", most+1)
	h.user(fits)
	h.user(long)
	call := h.read("a")
	h.asks("", call)
	h.add(session.Results(session.Part{Kind: session.KindResult, CallID: call.CallID, Content: []session.Part{session.Text(long + "rest")}}))
	for range 2 {
		context := h.s.Context()
		if context[0].Parts[0].Text != fits {
			t.Error("a text of the longest length was cut")
		}
		isCut(t, "message", context[1].Parts[0].Text, long)
		isCut(t, "result", context[3].Parts[0].Content[0].Text, long+"rest")
		h.same()
		h.reopen()
	}
}

func TestLongArgumentsStayJSON(t *testing.T) {
	h := newHarness(t)
	long := strings.Repeat(`<é"\`+"\n\U0001F600", most/5)
	name := strings.Repeat("n", most+1)
	text, err := json.Marshal(map[string]any{name: 1})
	h.must(err)
	literal, err := json.Marshal(long)
	h.must(err)
	h.asks("", session.Part{
		Kind: session.KindCall, CallID: "c", Name: "write",
		Arguments: `{ "n":1.0, "content" : ` + string(literal) + `, "o":` + string(text) + `,"b":9007199254740993, "s":"<" }`,
	})
	got := h.s.Context()[0].Parts[0].Arguments
	if !strings.HasPrefix(got, `{ "n":1.0, "content" : "`) || !strings.HasSuffix(got, `, "o":`+string(text)+`,"b":9007199254740993, "s":"<" }`) {
		t.Errorf("around the text that was cut: %.40q ... %q", got, got[len(got)-40:])
	}
	var fields struct{ Content string }
	if err := json.Unmarshal([]byte(got), &fields); err != nil {
		t.Fatal(err)
	}
	isCut(t, "arguments", fields.Content, long)
	h.same()

	// The longest report is kept as a whole, in the call and in the state.
	h.step("", h.checkpoint("g"))
	report := strings.Repeat("é", conversation.MaxReport)
	call := h.rewind(report)
	h.asks("", call)
	h.add(session.Results(h.result(call)))
	h.reopen()
	if due := h.s.Due(); due == nil || due.Text != report {
		t.Error("the report is not what it was")
	}
}

func TestSignaturesAreNeverCut(t *testing.T) {
	h := newHarness(t)
	raw := `{"type":"redacted_thinking","data":"` + strings.Repeat("A", 2*most) + `"}`
	h.add(session.Message{Role: session.RoleAssistant, Parts: []session.Part{opaque(raw), session.Text("x")}})
	h.reopen()
	if got := h.s.Context()[0].Parts[0].Raw; string(got) != raw {
		t.Errorf("%d bytes of %d are left", len(got), len(raw))
	}
}

func TestDataGoToASideFile(t *testing.T) {
	h := newHarness(t)
	data := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("\x00\xffpng"), 1000))
	image := session.Part{Kind: session.KindImage, MediaType: "image/png", Data: data}
	call := h.read("x.png")
	h.asks("", call)
	h.add(session.Results(session.Part{Kind: session.KindResult, CallID: call.CallID, Content: []session.Part{image}}))
	h.add(session.Message{Role: session.RoleUser, Parts: []session.Part{image, session.Text("look")}})
	file, err := os.ReadFile(h.s.Path())
	h.must(err)
	if bytes.Contains(file, []byte(data)) {
		t.Error("the data are in the session file")
	}
	fork, err := h.lib.Fork(h.s.ID(), "", "/")
	h.must(err)
	defer fork.Close()
	h.reopen()
	h.same()
	for _, s := range []*session.Session{h.s, fork} {
		for _, p := range []session.Part{s.Context()[1].Parts[0].Content[0], s.Context()[2].Parts[0]} {
			if got, err := s.Data(p); err != nil || got != data {
				t.Errorf("data of %+v: %d bytes, %v", p, len(got), err)
			}
		}
	}
	side := filepath.Join(h.lib.Dir, h.s.ID()+".blobs", h.s.Context()[2].Parts[0].Blob)
	h.must(os.WriteFile(side, []byte("other"), 0o600))
	if _, err := h.s.Data(h.s.Context()[2].Parts[0]); err == nil {
		t.Error("a damaged side file is handed out")
	}
	if _, err := h.s.Data(session.Part{Blob: "../" + h.s.ID() + ".jsonl"}); err == nil || !strings.Contains(err.Error(), "is no hash") {
		t.Errorf("a file elsewhere is looked into: %v", err)
	}
	if _, err := h.s.Append(session.Message{Role: session.RoleUser, Parts: []session.Part{{Kind: session.KindImage, Data: "no base64!"}}}); err == nil {
		t.Error("data that are none are taken")
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	h := newHarness(t)
	h.add(session.Message{Role: session.RoleUser, Parts: []session.Part{{Kind: session.KindImage, Data: "aGVsbG8="}}})
	h.must(filepath.WalkDir(h.lib.Dir, func(path string, d os.DirEntry, err error) error {
		h.must(err)
		info, err := d.Info()
		h.must(err)
		want := os.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return nil
	}))
}

func TestInvalidTextIsTheSameReloaded(t *testing.T) {
	h := newHarness(t)
	h.user("a\xffb\u2028<&>\x00")
	h.add(session.Message{Role: session.RoleAssistant, Model: "m\xff", Parts: []session.Part{
		{Kind: session.KindCall, CallID: "c\xff", Name: "read", Arguments: "{\"a\":\"\xff\"}", Loads: []string{}, Details: json.RawMessage(" { \"x\" : 1 } ")},
	}})
	h.same()
	if _, err := h.s.Append(session.Message{Role: session.RoleAssistant, Parts: []session.Part{opaque(`{"torn`)}}); err == nil {
		t.Error("a block that is no JSON is taken")
	}
}
