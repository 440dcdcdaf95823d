package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/agents/history"
)

const thread = "01a22e18-c1fc-7c81-ac33-f6e114053623"

// roll writes rollouts as Codex does.
type roll struct {
	lines  []string
	minute int
	calls  int
}

func (r *roll) add(kind, payload string) *roll {
	r.minute++
	r.lines = append(r.lines, fmt.Sprintf(`{"timestamp":"2026-11-30T10:%02d:00.123Z","ordinal":%d,"type":%q,"payload":%s}`, r.minute, len(r.lines), kind, payload))
	return r
}

func newRoll(id string) *roll {
	return (&roll{}).add("session_meta", `{"session_id":"`+id+`","id":"`+id+`","cwd":"/w","history_mode":"paginated"}`)
}

func (r *roll) starts(turn string) *roll {
	return r.add("event_msg", `{"type":"task_started","turn_attribution":{"turn_id":"`+turn+`"},"turn_id":"`+turn+`"}`)
}

func (r *roll) ends(turn string) *roll {
	return r.add("event_msg", `{"type":"task_complete","turn_id":"`+turn+`","last_agent_message":"done"}`)
}

func (r *roll) fails(turn string) *roll {
	return r.add("event_msg", `{"type":"task_complete","turn_id":"`+turn+`","last_agent_message":null,"error":{"message":"no","codex_error_info":"other"}}`)
}

func (r *roll) aborts(turn string) *roll {
	return r.add("event_msg", `{"type":"turn_aborted","turn_id":"`+turn+`","reason":"interrupted"}`)
}

func (r *roll) user(text string) *roll {
	return r.add("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":`+strconv.Quote(text)+`}]}`)
}

func (r *roll) says(text string) *roll {
	return r.add("response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":`+strconv.Quote(text)+`}]}`)
}

func (r *roll) call(namespace, name, arguments string) string {
	r.calls++
	id := "call_" + strconv.Itoa(r.calls)
	r.add("response_item", fmt.Sprintf(`{"type":"function_call","name":%q,"namespace":%q,"arguments":%q,"call_id":%q}`, name, namespace, arguments, id))
	r.add("token_usage_record", `{"thread_id":"`+thread+`","session_id":"`+thread+`"}`)
	return id
}

func (r *roll) result(id string, texts ...string) *roll {
	var blocks []string
	for _, text := range append([]string{"Wall time: 0.0253 seconds\nOutput:"}, texts...) {
		blocks = append(blocks, `{"type":"input_text","text":`+strconv.Quote(text)+`}`)
	}
	r.add("event_msg", `{"type":"item_completed","thread_id":"`+thread+`","item":{"type":"McpToolCall","id":"`+id+`"}}`)
	return r.add("response_item", fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":[%s]}`, id, strings.Join(blocks, ",")))
}

func (r *roll) opens(goal string) *roll {
	id := r.call("mcp__turnback", "checkpoint", `{"goal":"`+goal+`"}`)
	return r.result(id, conversation.CreatedText(goal))
}

func (r *roll) closes(report string) *roll {
	id := r.call("mcp__turnback", "rewind", `{"report":"`+report+`"}`)
	return r.result(id, conversation.RewindText())
}

func (r *roll) shell() *roll {
	return r.result(r.call("", "exec_command", `{"cmd":"ls"}`), "a.txt")
}

func (r *roll) text() string { return strings.Join(r.lines, "\n") + "\n" }

// write puts a rollout where Codex has it, below home.
func write(t *testing.T, home, id, text string) string {
	t.Helper()
	dir := filepath.Join(home, "sessions", "2026", "11", "30")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "rollout-2026-11-30T10-00-00-"+id+".jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, text string) history.History {
	t.Helper()
	h, err := Adapter{}.History(write(t, t.TempDir(), thread, text))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// What is open by the rollout alone.
func TestStateByTheRollout(t *testing.T) {
	t.Parallel()
	begun := func() *roll { return newRoll(thread).starts("t1").user("go") }
	torn := begun().opens("g").closes("r").text()
	for name, c := range map[string]struct {
		text            string
		open, completed string // calls
		lost            bool
		spans           int
	}{
		"nothing": {begun().shell().says("done").text(), "", "", false, 0},
		"open":    {begun().opens("g").shell().text(), "call_1", "", false, 0},
		"closed":  {begun().opens("g").shell().closes("r").says("done").text(), "", "call_3", false, 1},
		"refused": {begun().result(begun().call("mcp__turnback", "checkpoint", "{}"), "Checkpoint already active.").text(), "", "", false, 0},
		"another's tool": {func() string {
			r := begun()
			return r.result(r.call("mcp__other", "checkpoint", `{"goal":"g"}`), conversation.CreatedText("g")).text()
		}(), "", "", false, 0},
		"again":            {begun().opens("g").closes("r").opens("h").text(), "call_3", "", false, 1},
		"compacted":        {begun().opens("g").add("compacted", `{"message":"m","replacement_history":[]}`).text(), "", "", true, 0},
		"a torn last line": {torn[:len(torn)-20], "call_1", "", false, 0},
	} {
		h := read(t, c.text)
		s := h.State()
		open, completed := "", ""
		if s.Open != nil {
			open = s.Open.CallID
		}
		if s.Completed != nil {
			completed = s.Completed.CallID
		}
		if open != c.open || completed != c.completed || s.Lost != nil != c.lost || h.Spans() != c.spans {
			t.Errorf("%s: open %q, completed %q, lost %v, %d spans; want %+v", name, open, completed, s.Lost, h.Spans(), c)
		}
	}
}

// Calls that were made together are one step, which is done when all have results.
func TestABatchIsOneStep(t *testing.T) {
	t.Parallel()
	r := newRoll(thread).starts("t1").user("go")
	a, b := r.call("mcp__turnback", "checkpoint", `{"goal":"g"}`), r.call("", "exec_command", `{}`)
	r.result(a, conversation.CreatedText("g"))
	if h := read(t, r.text()); len(h.Steps) != 1 || h.Steps[0].Done || !h.Steps[0].Calls[0].OK || h.State().Open.Boundary != nil {
		t.Errorf("before the second result: %+v", h)
	}
	r.result(b, "x").shell()
	h := read(t, r.text())
	if len(h.Steps) != 2 || !h.Steps[0].Done || len(h.Steps[0].Calls) != 1 || h.State().Open.Boundary == nil {
		t.Errorf("after it: %+v", h)
	}
	if c, ok := h.Call(a); !ok || c.Text != "g" || !c.Done || !h.Newest.After(c.At) {
		t.Errorf("the call: %+v, newest %v", c, h.Newest)
	}
}

// A fork has what it goes on from in another rollout.
func TestAForkGoesOnFromItsParent(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	parent := newRoll(thread).starts("t1").user("go").opens("g")
	cut := len(parent.lines)
	parentPath := write(t, home, thread, parent.ends("t1").starts("t2").closes("r").text())
	const id = "01a22e18-0000-7c81-ac33-f6e114053623"
	fork := (&roll{calls: 10}).add("session_meta", fmt.Sprintf(`{"id":%q,"session_id":%q,"forked_from_id":%q,"forked_from_ordinal_exclusive":%d}`, id, id, thread, cut))
	path := write(t, home, id, fork.starts("t3").shell().text())
	h, err := Adapter{}.History(path)
	if err != nil || h.State().Open == nil || h.State().Open.CallID != "call_1" {
		t.Errorf("open in the fork: %+v, %v", h.State(), err)
	}
	if err := os.Remove(parentPath); err != nil {
		t.Fatal(err)
	}
	if _, err := (Adapter{}).History(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), thread) {
		t.Errorf("without its parent: %v", err)
	}
	loop := (&roll{}).add("session_meta", fmt.Sprintf(`{"id":%q,"forked_from_id":%q,"forked_from_ordinal_exclusive":9}`, id, id))
	if _, err := (Adapter{}).History(write(t, home, id, loop.text())); err == nil {
		t.Error("a fork of itself was read")
	}
}

func TestARollbackIsNotGuessedAt(t *testing.T) {
	t.Parallel()
	text := newRoll(thread).starts("t1").opens("g").add("event_msg", `{"type":"thread_rolled_back","num_turns":1}`).text()
	if h, err := (Adapter{}).History(write(t, t.TempDir(), thread, text)); err == nil {
		t.Errorf("%+v", h)
	}
}

// Of what ended a turn without a word of the hooks.
func TestEndsInInterrupt(t *testing.T) {
	t.Parallel()
	begun := func() *roll { return newRoll(thread).starts("t1").user("go").shell() }
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"works":            {begun().text(), false},
		"done":             {begun().ends("t1").text(), false},
		"interrupted":      {begun().aborts("t1").text(), true},
		"model error":      {begun().fails("t1").text(), true},
		"settings behind":  {begun().fails("t1").add("event_msg", `{"type":"thread_settings_applied"}`).text(), true},
		"a newer turn":     {begun().fails("t1").starts("t2").text(), false},
		"done after error": {begun().fails("t1").starts("t2").ends("t2").text(), false},
		"said by a person": {begun().user(`"event_msg" "turn_aborted"`).text(), false},
	} {
		if got := (Adapter{}).EndsInInterrupt(write(t, t.TempDir(), thread, c.text)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (Adapter{}).EndsInInterrupt(filepath.Join(t.TempDir(), "none")) {
		t.Error("a rollout that is not there ended")
	}
}

func TestFindTranscript(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	getenv := func(name string) string {
		return map[string]string{"HOME": filepath.Dir(home), "CODEX_HOME": home}[name]
	}
	if path, err := (Adapter{}).FindTranscript(getenv, thread); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("found %q, %v", path, err)
	}
	want := write(t, home, thread, newRoll(thread).text())
	if path, err := (Adapter{}).FindTranscript(getenv, thread); path != want || err != nil {
		t.Errorf("found %q, %v", path, err)
	}
	for _, id := range []string{thread[1:], "f6e114053623", "", "*"} {
		if path, err := (Adapter{}).FindTranscript(getenv, id); err == nil {
			t.Errorf("%q was taken for the thread of %s", id, path)
		}
	}
	if err := os.MkdirAll(filepath.Join(home, "archived_sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	archived := filepath.Join(home, "archived_sessions", filepath.Base(want))
	if err := os.Rename(want, archived); err != nil {
		t.Fatal(err)
	}
	if path, err := (Adapter{}).FindTranscript(getenv, thread); path != archived || err != nil {
		t.Errorf("archived: %q, %v", path, err)
	}
	f, path, err := Adapter{}.OpenTranscript(getenv, thread, place(want, "t1", false))
	if err != nil || path != archived {
		t.Fatalf("opened %q, %v", path, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyTheThreadsOwnRolloutIsOpened(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"CODEX_HOME": home}[name] }
	path := write(t, home, thread, newRoll(thread).text())
	outside := write(t, t.TempDir(), thread, newRoll(thread).text())
	link := filepath.Join(filepath.Dir(path), "rollout-2026-11-30T11-00-00-"+"aaaa"+".jsonl")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ session, place string }{
		"another thread": {"aaaa", place(path, "t1", false)},
		"outside":        {thread, place(outside, "t1", false)},
		"a link":         {"aaaa", place(link, "t1", false)},
		"no place":       {thread, "{"},
		"no turn":        {thread, `{"path":"` + path + `"}`},
		"relative":       {thread, place(filepath.Base(path), "t1", false)},
		"no rollout":     {"config", place(filepath.Join(home, "config.jsonl"), "t1", false)},
	} {
		if f, _, err := (Adapter{}).OpenTranscript(getenv, c.session, c.place); err == nil {
			t.Errorf("%s: opened %s", name, f.Name())
		}
	}
}

func TestPlaceNow(t *testing.T) {
	starts := func(turn string) string {
		return `{"type":"event_msg","payload":{"type":"task_started","turn_id":"` + turn + `"}}` + "\n"
	}
	ends := func(turn, how string) string {
		return `{"type":"event_msg","payload":{"type":"` + how + `","turn_id":"` + turn + `"}}` + "\n"
	}
	path := filepath.Join(t.TempDir(), "rollout.jsonl")
	for name, c := range map[string]struct {
		text, before, want string
	}{
		"a turn is over":             {starts("t1") + ends("t1", "task_complete"), "", place(path, "t1", false)},
		"one was interrupted":        {starts("t1") + ends("t1", "turn_aborted"), "", place(path, "t1", false)},
		"one goes on":                {starts("t1") + ends("t1", "task_complete") + starts("t2"), "", place(path, "t2", true)},
		"before one that is over":    {starts("t1") + ends("t1", "task_complete"), "t1", place(path, "t1", true)},
		"before one that is to come": {starts("t1") + ends("t1", "task_complete"), "t2", place(path, "t1", false)},
		"none":                       {`{"type":"session_meta","payload":{}}` + "\n", "", ""},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := (Adapter{}).PlaceNow(path, c.before); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := (Adapter{}).PlaceNow(filepath.Join(t.TempDir(), "missing"), ""); got != "" {
		t.Errorf("no rollout: %q", got)
	}
}
