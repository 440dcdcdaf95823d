package fakemodel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

const hello = `{"model":"m","tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"hello"}]}`

type header map[string]string

// post sends a request and returns status and body.
func post(t *testing.T, s *fakemodel.Server, body string, headers header) (int, string) {
	t.Helper()
	response := open(t.Context(), t, s, body, headers)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func open(ctx context.Context, t *testing.T, s *fakemodel.Server, body string, headers header) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// said is the text of a plain reply.
func said(t *testing.T, body string) string {
	t.Helper()
	var message struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if err := json.Unmarshal([]byte(body), &message); err != nil {
		t.Fatalf("reply %q: %v", body, err)
	}
	if len(message.Content) != 1 {
		t.Fatalf("reply has %d blocks: %s", len(message.Content), body)
	}
	return message.Content[0].Text
}

func TestQueueGivesTheFirstEntryThatFits(t *testing.T) {
	t.Parallel()
	s := fakemodel.Start(
		t,
		fakemodel.Entry{Kind: fakemodel.Sub, Content: fakemodel.Say("for a subagent")},
		fakemodel.Entry{Match: regexp.MustCompile("second"), Content: fakemodel.Say("about the second")},
		fakemodel.Entry{Content: fakemodel.Say("for anybody"), Keep: true},
		fakemodel.Entry{Content: fakemodel.Say("never reached")},
	)
	// The word is in the history, but not in what is new.
	old := `{"tools":[{}],"messages":[{"role":"user","content":"second"},{"role":"assistant","content":"x"},{"role":"user","content":"y"}]}`
	second := strings.Replace(hello, "hello", "the second thing", 1)
	steps := []struct {
		body    string
		headers header
		want    string
	}{
		{old, nil, "for anybody"},
		{second, nil, "about the second"},
		{second, nil, "for anybody"},
		{hello, header{"x-claude-code-agent-id": "a1"}, "for a subagent"},
		{hello, header{"x-claude-code-agent-id": "a1"}, "for anybody"},
		{`{"messages":[{"role":"user","content":"title?"}]}`, nil, `{"title":"fake title"}`},
	}
	for i, step := range steps {
		status, body := post(t, s, step.body, step.headers)
		if got := said(t, body); status != http.StatusOK || got != step.want {
			t.Errorf("step %d: %d %q, want %q", i, status, got, step.want)
		}
	}
	if left := s.Pending(); len(left) != 1 {
		t.Errorf("%d entries are pending, want the one that was never reached", len(left))
	}
	s.Clear()
	if _, body := post(t, s, hello, nil); said(t, body) != "ok" {
		t.Errorf("reply of an empty queue is %s", body)
	}
}

func TestLogRedactsKeys(t *testing.T) {
	t.Parallel()
	s := fakemodel.Start(t)
	post(t, s, hello, header{"x-api-key": "sk-secret", "authorization": "Bearer secret", "anthropic-beta": "kept"})
	requests := s.Requests()
	if len(requests) != 1 || requests[0].Kind != fakemodel.Main || requests[0].Path != "/v1/messages" {
		t.Fatalf("log is %+v", requests)
	}
	var text bytes.Buffer
	if err := requests[0].Header.Write(&text); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "secret") || !strings.Contains(text.String(), "kept") {
		t.Errorf("headers in the log:\n%s", text.String())
	}
	if !json.Valid(requests[0].Body) {
		t.Errorf("body in the log is %q", requests[0].Body)
	}
}

// event is one server-sent event.
type event struct {
	Name string
	Data map[string]any
}

func readEvents(t *testing.T, from io.Reader, count int) []event {
	t.Helper()
	var events []event
	var name string
	lines := bufio.NewScanner(from)
	for (count == 0 || len(events) < count) && lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = rest
		}
		rest, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		e := event{Name: name}
		if err := json.Unmarshal([]byte(rest), &e.Data); err != nil {
			t.Fatalf("event %q: %v", rest, err)
		}
		if e.Data["type"] != name {
			t.Errorf("event %q has type %q", name, e.Data["type"])
		}
		events = append(events, e)
	}
	return events
}

func TestStream(t *testing.T) {
	t.Parallel()
	s := fakemodel.Start(t, fakemodel.Entry{
		ChunkDelay: time.Microsecond,
		Usage:      map[string]int{"output_tokens": 7},
		Content: []fakemodel.Block{
			fakemodel.Thinking("hm"),
			fakemodel.Text("more than eight"),
			fakemodel.Tool("Bash", map[string]any{"command": "ls"}),
		},
	})
	_, body := post(t, s, strings.Replace(hello, `{"model"`, `{"stream":true,"model"`, 1), nil)
	var names []string
	var text, input string
	var first, last map[string]any
	for _, e := range readEvents(t, strings.NewReader(body), 0) {
		names = append(names, e.Name)
		switch e.Name {
		case "message_start":
			first = e.Data["message"].(map[string]any)
		case "message_delta":
			last = e.Data
		}
		delta, _ := e.Data["delta"].(map[string]any)
		if piece, ok := delta["text"].(string); ok {
			text += piece
		}
		if piece, ok := delta["partial_json"].(string); ok {
			input += piece
		}
	}
	want := []string{
		"message_start", "ping",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop", // thinking, signature
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop", // two chunks
		"content_block_start", "content_block_delta", "content_block_stop", // the call
		"message_delta", "message_stop",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if first["stop_reason"] != nil || len(first["content"].([]any)) != 0 || first["usage"].(map[string]any)["output_tokens"] != 1.0 {
		t.Errorf("the message starts as %v", first)
	}
	if text != "more than eight" || input != `{"command":"ls"}` {
		t.Errorf("text %q, input %q", text, input)
	}
	if usage := last["usage"].(map[string]any); usage["output_tokens"] != 7.0 || usage["input_tokens"] == 0.0 {
		t.Errorf("usage is %v", usage)
	}
	if reason := last["delta"].(map[string]any)["stop_reason"]; reason != "tool_use" {
		t.Errorf("stop reason is %v", reason)
	}
}

func TestHangEndsWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	s := fakemodel.Start(t, fakemodel.Entry{Content: fakemodel.Say("thinking about it"), Hang: true})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	response := open(ctx, t, s, strings.Replace(hello, `{"model"`, `{"stream":true,"model"`, 1), nil)
	defer response.Body.Close()
	events := readEvents(t, response.Body, 5)
	if len(events) != 5 || events[4].Name != "content_block_stop" {
		t.Fatalf("events are %v", events)
	}
	if s.Requests()[0].Gone {
		t.Error("the client is said to be gone while it reads")
	}
	leave()
	s.WaitFor(t, 10*time.Second, "the client to be gone", func(r []fakemodel.Request) bool { return r[0].Gone })
}

func TestGateHoldsAReplyBack(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := fakemodel.Start(
		t,
		fakemodel.Entry{Match: regexp.MustCompile("hello"), Content: fakemodel.Say("late"), Gate: gate},
		fakemodel.Entry{Content: fakemodel.Say("at once")},
	)
	answer := make(chan string, 1)
	go func() {
		response, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(hello))
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		answer <- fmt.Sprint(string(text), err)
	}()
	s.WaitFor(t, 10*time.Second, "the request", func(r []fakemodel.Request) bool { return len(r) == 1 })
	if _, body := post(t, s, strings.Replace(hello, "hello", "another", 1), nil); said(t, body) != "at once" {
		t.Errorf("a request after the held one got %s", body)
	}
	select {
	case got := <-answer:
		t.Errorf("the gate is closed, and the reply is %s", got)
	default:
	}
	close(gate)
	select {
	case got := <-answer:
		if !strings.Contains(got, "late") {
			t.Errorf("reply after the gate is %s", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("the gate is open, and there is no reply")
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	overloaded := &fakemodel.APIError{Status: 529, Type: "overloaded_error", Message: "busy"}
	s := fakemodel.Start(t, fakemodel.Entry{Error: overloaded, Delay: time.Millisecond, Keep: true})
	for range 2 {
		status, body := post(t, s, hello, nil)
		if want := `{"error":{"message":"busy","type":"overloaded_error"},"type":"error"}`; status != 529 || body != want {
			t.Errorf("reply is %d %s", status, body)
		}
	}
	if status, body := post(t, s, `{"messages":[]}`, nil); status != 400 || !strings.Contains(body, "messages: empty") {
		t.Errorf("reply to a broken history is %d %s", status, body)
	}
	if status, body := post(t, s, `{`, nil); status != 400 || !strings.Contains(body, "invalid_request_error") {
		t.Errorf("reply to half a request is %d %s", status, body)
	}
	if diff := cmp.Diff([]string{"messages: empty"}, s.Problems()); diff != "" {
		t.Error(diff)
	}
}

func TestOtherPaths(t *testing.T) {
	t.Parallel()
	s := fakemodel.Start(t)
	tests := []struct {
		method, path, want string
		status             int
	}{
		{http.MethodPost, "/v1/messages/count_tokens", `{"input_tokens":1}`, 200},
		{http.MethodGet, "/v1/models", `"data":[]`, 200},
		{http.MethodGet, "/", `{}`, 200},
		{http.MethodHead, "/anything", ``, 200},
		{http.MethodGet, "/v1/nothing", "not_found_error", 404},
	}
	for _, test := range tests {
		request, err := http.NewRequestWithContext(t.Context(), test.method, s.URL+test.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != test.status || !strings.Contains(string(body), test.want) {
			t.Errorf("%s %s: %d %s", test.method, test.path, response.StatusCode, body)
		}
	}
	if n := len(s.Requests()); n != len(tests) {
		t.Errorf("the log has %d requests, want %d", n, len(tests))
	}
}
