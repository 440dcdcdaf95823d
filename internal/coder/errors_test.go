package coder_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/coder"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// kept is everything that the agent has written below its folder.
func (h *house) kept() string {
	h.t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(h.data, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // not there, or no file
		}
		text, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(text))
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all.String()
}

// What cannot begin leaves nothing behind.
func TestWithoutAKeyThereIsNoSession(t *testing.T) {
	h := newHouse(t)
	h.env["OPENAI_BASE_URL"] = ""
	for _, f := range []coder.Flags{{Prompt: "go"}, {Prompt: "go", JSON: true}, {Prompt: "go", RewindFiles: true}} {
		if got := h.does(t.Context(), f); got.err == nil || got.out != "" {
			t.Errorf("%+v: error %v, output %q", f, got.err, got.out)
		}
	}
	equal(t, "reports", h.daemon.rest(), "")
	equal(t, "files", h.kept(), "")
	h.env["OPENAI_BASE_URL"] = h.model.URL
	got := coder.Run(t.Context(), h.options(coder.Flags{Model: "openai/m"}, nil, nil))
	if e := api.AsError(got); e == nil || e.Code != api.CodeInvalidParams {
		t.Errorf("without a terminal and a prompt: %v", got)
	}
	equal(t, "files without a terminal", h.kept(), "")
}

// A provider that says the key again does not get it into an error.
func TestAKeyInAProvidersErrorIsMasked(t *testing.T) {
	const key = "sk-live-abcdefghijklmnop"
	long := strings.Repeat("x", 290)
	for name, reply := range map[string]fakemodel.ChatReply{
		"401":                 {Status: 401, Message: "Incorrect API key provided: " + key + "."},
		"400":                 {Status: 400, Message: "header Authorization: Bearer " + key},
		"cut in the key":      {Status: 500, Message: long + key},
		"in the stream":       {Body: `data: {"error":{"message":"no ` + key + `"}}` + "\n\n", Type: "text/event-stream"},
		"in a body that ends": {Body: `data: ` + key + "\n\n", Type: "text/event-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			reply.Keep = true // the library asks again
			h.model.Add(reply)
			h.env["OPENAI_API_KEY"] = key
			got := h.does(t.Context(), coder.Flags{Prompt: "go", JSON: true})
			if got.err == nil {
				t.Fatal("no error")
			}
			raw, err := json.Marshal(api.AsError(got.err))
			if err != nil {
				t.Fatal(err)
			}
			reports, err := json.Marshal(h.daemon.reports)
			if err != nil {
				t.Fatal(err)
			}
			for what, text := range map[string]string{
				"error": string(raw), "output": got.out, "standard error": got.about, "session file": h.kept(), "reports": string(reports),
			} {
				lacks(t, what, text, key[:12])
			}
		})
	}
}

// An address may have a password in it.
func TestAPasswordInTheAddressIsMasked(t *testing.T) {
	h := newHouse(t)
	h.env["OPENAI_BASE_URL"] = "http://me:hunter2@127.0.0.1:1/v1"
	got := h.does(t.Context(), coder.Flags{Prompt: "go"})
	if got.err == nil {
		t.Fatal("no error")
	}
	contains(t, "error", got.err.Error(), "http://me:xxxxx@127.0.0.1:1/v1")
	lacks(t, "error", got.err.Error(), "hunter2")
}

// Only what the manual names is taken from the environment.
func TestTheLibrariesTakeNothingFromTheEnvironment(t *testing.T) {
	h := newHouse(t, says("ok"))
	for name, value := range map[string]string{
		"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1", "OPENAI_CUSTOM_HEADERS": "X-Mine: 1", "OPENAI_API_KEY": "of-the-process",
		"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_ADMIN_KEY": "admin",
	} {
		t.Setenv(name, value)
	}
	h.works(coder.Flags{Prompt: "go"})
	header := h.last().Header
	for _, name := range []string{"Openai-Organization", "Openai-Project", "X-Mine"} {
		if got := header.Get(name); got != "" {
			t.Errorf("the header %s is sent: %s", name, got)
		}
	}
	equal(t, "key", header.Get("Authorization"), "Bearer none")
}

func TestAHelperThatSaysNothingIsAnError(t *testing.T) {
	h := newHouse(t, calls("task", "prompt", "look"), fakemodel.ChatReply{}, calls("task", "prompt", "look"), fakemodel.ChatReply{Text: "I", Finish: "content_filter"}, says("end"))
	h.works(coder.Flags{Prompt: "go"})
	m := h.last().Messages
	contains(t, "result", m[3].Text(), "gave an empty answer")
	contains(t, "result", m[5].Text(), "declined to answer")
}

// A session belongs to the place where it began.
func TestResumeElsewhereIsRefused(t *testing.T) {
	h := newHouse(t, says("one"))
	h.works(coder.Flags{Prompt: "go"})
	id, there := h.session().ID(), h.dir
	before := h.kept()
	h.dir = filepath.Join(t.TempDir(), "an other")
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e := api.AsError(h.does(t.Context(), coder.Flags{Prompt: "on", Resume: id[:20]}).err)
	if e == nil || e.Code != api.CodeOtherWorktree || e.Hint == nil {
		t.Fatalf("error %+v", e)
	}
	contains(t, "message", e.Message, "is about "+there)
	equal(t, "command", e.Hint.Command, "cd "+there+" && turnback agent --resume "+id[:20])
	contains(t, "hint", e.Hint.Detail, "--fork")
	equal(t, "the session", h.kept(), before)

	// By a link it is the same place.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(there, link); err != nil {
		t.Fatal(err)
	}
	h.dir = link
	h.model.Add(says("two"))
	h.works(coder.Flags{Prompt: "on", Resume: id})
	// And a copy of it can be gone on with anywhere.
	h.dir = t.TempDir()
	h.model.Add(says("three"))
	h.works(coder.Flags{Prompt: "on", Resume: id, Fork: true})
}

// One file that cannot be read does not keep the others from being used.
func TestAnUnreadableSessionIsPassedOver(t *testing.T) {
	h := newHouse(t, says("one"))
	h.works(coder.Flags{Prompt: "go"})
	good := h.session()
	whole, err := os.ReadFile(good.Path())
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.ReplaceAll(string(whole), good.ID(), "20991231T000000-00")
	header, rest, _ := strings.Cut(newer, "\n")
	bad := map[string]string{
		"20991231T000000-00": header + "\nno entry\n" + rest,
		"20991231T000000-01": "\x00\x00\x00\n" + rest,
	}
	for id, text := range bad {
		if err := os.WriteFile(filepath.Join(h.data, id+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(h.data, "20991231T000000-02.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.model.Add(says("two"))
	got := h.works(coder.Flags{Prompt: "on", Continue: true})
	equal(t, "history", shape(h.last()), "user: go\nassistant: one\nuser: on")
	contains(t, "standard error", got.about, "Passed over: session file "+h.data+"/20991231T000000-00.jsonl: line 2", "00-01.jsonl: line 1", "00-02.jsonl: is a directory")

	for id, line := range map[string]string{"20991231T000000-00": "line 2", "20991231T000000-01": "line 1", "20991231T000000-02": "is a directory"} {
		e := api.AsError(h.does(t.Context(), coder.Flags{Prompt: "on", Resume: id}).err)
		if e == nil || e.Code != api.CodeDamaged || !strings.Contains(e.Message, id+".jsonl: ") || !strings.Contains(e.Message, line) {
			t.Errorf("--resume %s: %+v", id, e)
		}
	}
	if err := os.Remove(good.Path()); err != nil {
		t.Fatal(err)
	}
	e := api.AsError(h.does(t.Context(), coder.Flags{Prompt: "on", Continue: true}).err)
	if e == nil || e.Code != api.CodeSessionNotFound || e.Hint == nil || len(e.Hint.Available) != 3 {
		t.Errorf("with none that can be read: %+v", e)
	}
	if errors.Is(e, os.ErrNotExist) {
		t.Error("it is told as a file that is not there")
	}
}

func TestAnthropicThatDoesNotAnswer(t *testing.T) {
	h, s := claudeHouse(t, fakemodel.Entry{StopReason: "refusal"}, fakemodel.Entry{StopReason: "end_turn"})
	h.env["ANTHROPIC_API_KEY"] = "k"
	for _, want := range []string{"anthropic/claude-test declined to answer (refusal)", "anthropic/claude-test gave an empty answer (end_turn)"} {
		e := api.AsError(h.does(t.Context(), coder.Flags{Prompt: "go", Model: "anthropic/claude-test"}).err)
		if e == nil || e.Code != api.CodeModelFailed || e.Message != want {
			t.Errorf("error %+v, want %s", e, want)
		}
	}
	if left := s.Pending(); len(left) > 0 {
		t.Errorf("%d scripted replies were not asked for", len(left))
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>hello</html>\n")) // a failed write means that the client is gone
	}))
	defer page.Close()
	h.env["ANTHROPIC_BASE_URL"] = page.URL
	e := api.AsError(h.does(t.Context(), coder.Flags{Prompt: "go", Model: "anthropic/claude-test"}).err)
	if e == nil || e.Hint == nil || !strings.Contains(e.Message, "it sent text/html") || !strings.Contains(e.Hint.Detail, "ANTHROPIC_BASE_URL") {
		t.Errorf("error %+v", e)
	}
}

func TestAnEntryThatIsNotThereIsRefused(t *testing.T) {
	h := newHouse(t, says("one"))
	h.works(coder.Flags{Prompt: "go"})
	before := h.kept()
	e := api.AsError(h.does(t.Context(), coder.Flags{Prompt: "on", Resume: h.session().ID() + "/000000000000"}).err)
	if e == nil || e.Code != api.CodeSessionNotFound || !strings.Contains(e.Message, "has no entry 000000000000") {
		t.Errorf("error %+v", e)
	}
	equal(t, "the session", h.kept(), before)
}

func TestThePromptOnStandardInput(t *testing.T) {
	for text, want := range map[string]string{"": "there is no prompt", " \n": "there is no prompt", strings.Repeat("x", 8<<20+1): "has more than 8388608 bytes"} {
		if _, err := coder.ReadPrompt("-", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %d bytes: %v, want %s", len(text), err, want)
		}
	}
	for given, want := range map[string]string{"go": "go", "-": "from there"} {
		if got, err := coder.ReadPrompt(given, strings.NewReader("from there")); err != nil || got != want {
			t.Errorf("-p %s: %q, %v", given, got, err)
		}
	}
}

// fullDisk takes no byte.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A script must not take an answer that was never written for one.
func TestAnAnswerThatCannotBeWrittenIsAnError(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		h := newHouse(t, calls("write", "path", "a.txt", "content", "one"), fakemodel.ChatReply{Text: "end"})
		o := h.options(coder.Flags{Prompt: "go", Headless: true, Yes: true, Model: "openai/m", JSON: asJSON}, nil, &bytes.Buffer{})
		o.Out = fullDisk{}
		if err := coder.Run(t.Context(), o); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "write the answer") {
			t.Errorf("JSON %v: %v", asJSON, err)
		}
		equal(t, "what it did", h.read("a.txt"), "one")
	}
}

// A person has to know that the model does not read all that was handed in.
func TestAPromptThatIsCutIsTold(t *testing.T) {
	h := newHouse(t, says("end"))
	got := h.works(coder.Flags{Prompt: strings.Repeat("ä", session.MaxText+5)})
	contains(t, "what is said", got.about, "The prompt is cut: a text of a conversation has at most 500000 characters, and it has 500005.")
	h = newHouse(t, says("end"))
	if got := h.works(coder.Flags{Prompt: strings.Repeat("ä", session.MaxText)}); strings.Contains(got.about, "cut") {
		t.Errorf("one that is not cut: %s", got.about)
	}
}
