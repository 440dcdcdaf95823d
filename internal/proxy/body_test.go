package proxy_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/proxy"
)

// plainBody is a request without a span, spaced as no encoder would.
const plainBody = `{ "model":"m","max_tokens":9007199254740993 ,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":"<hi>"}] }`

// spanBody is a conversation in which a checkpoint was rewound.
const spanBody = `{"model":"m", "tools":[{"name":"Bash"}], "messages":[
{"role":"user","content":"look around"},
{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"mcp__turnback__checkpoint","input":{"goal":"g"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"Checkpoint created.\nGoal: g\nRun your investigation, then call rewind with a concise report."}]}]},
{"role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"EXPLORED"}]},
{"role":"assistant","content":[{"type":"tool_use","id":"t3","name":"mcp__turnback__rewind","input":{"report":"THE REPORT"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","content":[{"type":"text","text":"Rewind requested.\nReport captured for context replacement."}]}]}
]}`

// daemon keeps what it is told.
type daemon struct {
	mu      sync.Mutex
	seen    []api.ConversationSeenParams
	figures []api.ConversationFiguresParams
	all     []string
	down    bool
}

func (d *daemon) Call(_ context.Context, verb string, params, _ any, _ func(api.Progress)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down {
		return api.Errorf(api.CodeNoDaemon, "down")
	}
	text, err := json.Marshal(params)
	d.all = append(d.all, verb+" "+string(text))
	switch p := params.(type) {
	case api.ConversationSeenParams:
		d.seen = append(d.seen, p)
	case api.ConversationFiguresParams:
		d.figures = append(d.figures, p)
	default:
		err = errors.New("unknown verb " + verb)
	}
	return err
}

// echo is an upstream that keeps the bodies it gets.
type echo struct {
	mu     sync.Mutex
	bodies [][]byte
	header http.Header
	length int64
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bodies, e.header, e.length = append(e.bodies, body), r.Header.Clone(), r.ContentLength
}

func (e *echo) last() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.bodies[len(e.bodies)-1]
}

func pack(t *testing.T, coding, body string) string {
	t.Helper()
	var packed bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&packed)
	case "br":
		w = brotli.NewWriter(&packed)
	case "zstd":
		z, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		return body
	}
	if _, err := io.WriteString(w, body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

func codings() []string { return []string{"", "gzip", "br", "zstd"} }

func TestABodyWithoutASpanIsTheSameBytes(t *testing.T) {
	up := &echo{}
	b := start(t, upstream(t, up.ServeHTTP).URL)
	for _, coding := range codings() {
		sent := pack(t, coding, plainBody)
		b.send("POST", "/v1/messages", sent, map[string]string{"Content-Encoding": coding})
		if got := up.last(); string(got) != sent {
			t.Errorf("coding %q: %d bytes came as %d others", coding, len(sent), len(got))
		}
	}
}

// TestWhatIsInDoubtPassesUnchanged: and the reason is told.
func TestWhatIsInDoubtPassesUnchanged(t *testing.T) {
	bomb := pack(t, "gzip", `{"messages":"`+strings.Repeat("x", 1<<20)+`"}`)
	for name, test := range map[string]struct {
		body   string
		header map[string]string
		reason string
	}{
		"too large":             {spanBody + strings.Repeat(" ", 64<<10), nil, "too large"},
		"too large when opened": {bomb, map[string]string{"Content-Encoding": "gzip"}, "too large"},
		"unknown coding":        {spanBody, map[string]string{"Content-Encoding": "compress"}, "coding"},
		"two codings":           {spanBody, map[string]string{"Content-Encoding": "gzip, br"}, "coding"},
		"not what it says":      {spanBody, map[string]string{"Content-Encoding": "gzip"}, "decode gzip"},
		"cut":                   {pack(t, "zstd", spanBody)[:100], map[string]string{"Content-Encoding": "zstd"}, "decode zstd"},
	} {
		t.Run(name, func(t *testing.T) {
			up := &echo{}
			b := start(t, upstream(t, up.ServeHTTP).URL, func(o *proxy.Options) { o.MaxBody = 32 << 10 })
			b.send("POST", "/v1/messages", test.body, test.header)
			if got := up.last(); string(got) != test.body {
				t.Errorf("%d bytes came as %d others", len(test.body), len(got))
			}
			b.end()
			if len(b.daemon.seen) != 1 || !strings.Contains(b.daemon.seen[0].Reason, test.reason) || !b.daemon.seen[0].Unknown {
				t.Errorf("told %+v", b.daemon.seen)
			}
		})
	}
}

// TestALongBodyOfUnknownLengthStreams: the upstream has the start of it while the
// agent still sends.
func TestALongBodyOfUnknownLengthStreams(t *testing.T) {
	half, rest := strings.Repeat("a", 64<<10), strings.Repeat("b", 64<<10)
	started, whole := make(chan struct{}), make(chan string, 1)
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		first := make([]byte, len(half))
		if _, err := io.ReadFull(r.Body, first); err != nil {
			t.Error(err)
		}
		close(started)
		more, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		whole <- string(first) + string(more)
	})
	b := start(t, up.URL, func(o *proxy.Options) { o.MaxBody = 32 << 10 })
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, half)
		<-started
		_, _ = io.WriteString(w, rest)
		_ = w.Close()
	}()
	request, err := http.NewRequest("POST", b.server.URL()+"/v1/messages", r)
	if err != nil {
		t.Fatal(err)
	}
	response, err := b.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if got := <-whole; got != half+rest {
		t.Errorf("%d bytes came as %d", len(half+rest), len(got))
	}
}

func TestUsageIsReadFromEveryProvidersAnswer(t *testing.T) {
	anthropic := "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":2,\"cache_read_input_tokens\":40,\"output_tokens\":1}}}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\n"
	responses := "event: response.created\ndata: {\"response\":{\"usage\":null}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":42,\"input_tokens_details\":{\"cached_tokens\":40},\"output_tokens\":9}}}\n\n"
	chat := "data: {\"choices\":[],\"usage\":null}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":42,\"completion_tokens\":9}}\n\ndata: [DONE]\n\n"
	gemini := "data: {\"usageMetadata\":{\"promptTokenCount\":42,\"candidatesTokenCount\":3}}\r\n\r\n"
	const events = "text/event-stream; charset=utf-8"
	for name, test := range map[string]struct{ path, kind, answer string }{
		"messages":       {"/v1/messages", events, anthropic},
		"responses":      {"/v1/responses", events, responses},
		"chat":           {"/v1/chat/completions", events, chat},
		"gemini":         {"/v1beta/models/m:streamGenerateContent?alt=sse", events, gemini},
		"gemini, a list": {"/v1beta/models/m:streamGenerateContent", "application/json", `[{"candidates":[]},` + "\n" + `{"usageMetadata":{"promptTokenCount":42}}]`},
		"plain chat":     {"/v1/chat/completions", "application/json", `{"usage":{"prompt_tokens":42}}`},
	} {
		for _, coding := range codings() {
			up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", test.kind)
				if coding != "" {
					w.Header().Set("Content-Encoding", coding)
				}
				for piece := range slices.Chunk([]byte(pack(t, coding, test.answer)), 7) {
					_, _ = w.Write(piece)
					w.(http.Flusher).Flush()
				}
			})
			b := start(t, up.URL)
			response := b.send("POST", test.path, plainBody, nil)
			if got := text(t, response); got != pack(t, coding, test.answer) {
				t.Errorf("%s, coding %q: the answer came changed", name, coding)
			}
			b.end()
			if f := b.daemon.figures; len(f) != 1 || f[0].Tokens != 42 {
				t.Errorf("%s, coding %q: figures %+v", name, coding, f)
			}
		}
	}
}
