package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
)

// daemon is one that answers as it is told, and remembers what it was asked.
type daemon struct {
	mu      sync.Mutex
	asked   []string
	answers map[string]any
	fails   error
	hold    map[string]chan struct{} // a call with this text waits
}

func (d *daemon) Call(_ context.Context, verb string, params, result any, _ func(api.Progress)) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	if p, ok := params.(api.ConversationCallParams); ok && d.hold[p.Text] != nil {
		<-d.hold[p.Text]
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, verb+" "+string(text))
	if d.fails != nil {
		return d.fails
	}
	if answer, ok := d.answers[verb]; ok {
		raw, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, result)
	}
	return nil
}

// serve answers lines, and returns the replies in the order of their ids.
func serve(t *testing.T, d *daemon, agent string, lines ...string) []Reply {
	t.Helper()
	var out bytes.Buffer
	o := Options{Agent: agent, Launch: "l1", Place: api.Place{Dir: "/w"}, Daemon: d, Now: func() time.Time { return time.Unix(5, 0).UTC() }}
	if err := Serve(t.Context(), o, strings.NewReader(strings.Join(lines, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	replies := make([]Reply, len(lines))
	for line := range strings.Lines(out.String()) {
		var r Reply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		replies[r.ID] = r
	}
	return replies
}

func result(id, tool, text string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"role":"toolResult","toolCallId":%q,"toolName":%q,"content":[{"type":"text","text":%s}],"isError":false}`, id, tool, quoted)
}

func call(id, tool, arguments string) string {
	return fmt.Sprintf(`{"role":"assistant","content":[{"type":"toolCall","id":%q,"name":%q,"arguments":%s}]}`, id, tool, arguments)
}

func TestContext(t *testing.T) {
	t.Parallel()
	asked := `{"role":"user","content":"<why & how>"}`
	open := asked + "," + call("c", "turnback_checkpoint", `{"goal":"g"}`) + "," + result("c", "turnback_checkpoint", conversation.CreatedText("g"))
	whole := open + "," + call("r", "read", `{}`) + "," + result("r", "read", "EXPLORED") + "," +
		call("w", "turnback_rewind", `{"report":"R"}`) + "," + result("w", "turnback_rewind", conversation.RewindText())
	d := &daemon{}
	replies := serve(t, d, "pi",
		`{"id":0,"do":"context","session":"s1"}`,
		`{"id":1,"do":"context","session":"s1","messages":[`+open+`]}`,
		`{"id":2,"do":"context","session":"s1","messages":[`+whole+`]}`,
		`{"id":3,"do":"usage","session":"s1","tokens":70}`,
		`{"id":4,"do":"usage","session":"s1","tokens":70}`, // of no request
		`{"id":5,"do":"context","session":"s1","messages":[{"role":"user","role":"user"`+`},`+whole+`,7]}`,
	)
	if r := replies[0]; r.Messages != nil || r.Open != "" || r.Error != "" {
		t.Errorf("without messages: %+v", r)
	}
	if r := replies[1]; r.Messages != nil || r.Open != "g" {
		t.Errorf("an open checkpoint: %+v", r)
	}
	got := string(replies[2].Messages)
	if !strings.HasPrefix(got, "["+asked+",") || !strings.HasSuffix(got, "]") || strings.Contains(got, "EXPLORED") || !strings.Contains(got, `\nR\n`) {
		t.Errorf("collapsed to %s", got)
	}
	if r := replies[5]; r.Messages != nil || r.Error != "" {
		t.Errorf("a history that cannot be read: %+v", r)
	}
	before := len(`{"messages":[` + whole + `]}`)
	after := before - len("["+whole+"]") + len(got)
	caller := `"caller":{"agent":"pi","session":"s1","launch":"l1"},"at":"1970-01-01T00:00:05Z"`
	want := []string{
		`conversation-seen {` + caller + `,"rewrites":true}`,
		`conversation-seen {` + caller + `,"open":{"call_id":"c","goal":"g","batch_ended":true},"checkpoints":["c"],"rewrites":true}`,
		`conversation-seen {` + caller + `,"checkpoints":["c"],"completed":true,"spans":1,"rewrites":true}`,
		fmt.Sprintf(`conversation-figures {%s,"bytes_before":%d,"bytes_after":%d,"tokens":70}`, caller, before, after),
	}
	if diff := cmp.Diff(want, d.asked[:4]); diff != "" {
		t.Errorf("the daemon was told (-want +got):\n%s", diff)
	}
	if last := d.asked[len(d.asked)-1]; !strings.Contains(last, `"unknown":true`) || !strings.Contains(last, `"reason":`) {
		t.Errorf("of what could not be read it was told %s", last)
	}
}

func TestCallsAreAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	// The first waits for what comes after it.
	held := make(chan struct{})
	d := &daemon{
		answers: map[string]any{"conversation-call": api.ConversationCallResult{Texts: []string{"one", "two"}, IsError: true}},
		hold:    map[string]chan struct{}{"a": held},
	}
	in, lines := io.Pipe()
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- Serve(t.Context(), Options{Agent: "opencode", Launch: "l1", Place: api.Place{Dir: "/w"}, Daemon: d, Now: time.Now}, in, &out)
	}()
	_, _ = io.WriteString(lines, `{"id":1,"do":"call","session":"s","tool":"checkpoint","call_id":"c1","text":"a"}`+"\n"+
		`{"id":2,"do":"call","session":"s","tool":"checkpoint","call_id":"c2","text":"b","subagent":true}`+"\n")
	for asked := 0; asked == 0; {
		d.mu.Lock()
		asked = len(d.asked)
		d.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	close(held)
	_ = lines.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	want := `conversation-call {"tool":"checkpoint","text":"b","caller":{"agent":"opencode","session":"s","tool_use_id":"c2","launch":"l1","subagent":true},"dir":"/w"}`
	if len(d.asked) != 2 || d.asked[0] != want {
		t.Errorf("asked %q", d.asked)
	}
	if got := out.String(); !strings.Contains(got, `{"id":2,"texts":["one","two"],"is_error":true}`) || !strings.Contains(got, `{"id":1,"texts"`) {
		t.Errorf("answered %s", got)
	}
}

func TestRest(t *testing.T) {
	t.Parallel()
	d := &daemon{answers: map[string]any{"conversation-settled": api.ConversationSettledResult{Reminder: "go on", Notice: "told"}}}
	replies := serve(t, d, "pi", `{"id":0,"do":"settled","session":"s","subagent":true}`, `{"id":1,"do":"settled","session":"s"}`, `{"id":2,"do":"dance"}`, "{")
	if r := replies[1]; r.Reminder != "go on" || r.Notice != "told" {
		t.Errorf("settled: %+v", r)
	}
	if replies[2].Error != `unknown request "dance"` {
		t.Errorf("an unknown request: %+v", replies[2])
	}
	if len(d.asked) != 2 || !strings.Contains(d.asked[0], `"subagent":true`) {
		t.Errorf("asked %q", d.asked)
	}
}

// Without a daemon the agent goes on: what is sent is collapsed all the same, and
// the model is told of a call that failed.
func TestWithoutADaemon(t *testing.T) {
	t.Parallel()
	d := &daemon{fails: api.Errorf(api.CodeNoDaemon, "no daemon listens")}
	replies := serve(t, d, "pi",
		`{"id":0,"do":"context","session":"s"}`, `{"id":1,"do":"call","session":"s","tool":"rewind","text":"R"}`,
		`{"id":2,"do":"settled","session":"s"}`, `{"id":3,"do":"prompted","session":"s"}`,
	)
	if r := replies[0]; r.Error != "" {
		t.Errorf("context: %+v", r)
	}
	for _, r := range replies[1:] {
		if r.Error != "no daemon listens" || r.Reminder != "" || len(r.Texts) > 0 {
			t.Errorf("%+v", r)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAnAgentThatIsGone(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat(`{"id":1,"do":"context","session":"s"}`+"\n", 3)
	err := Serve(t.Context(), Options{Agent: "pi", Daemon: &daemon{}, Now: time.Now}, strings.NewReader(lines), broken{})
	if err == nil || !strings.Contains(err.Error(), "write to the plugin") {
		t.Errorf("got %v", err)
	}
}
