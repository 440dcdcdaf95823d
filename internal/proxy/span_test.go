package proxy_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/proxy"
)

func TestASpanGoesOutAsItsReport(t *testing.T) {
	up := &echo{}
	b := start(t, upstream(t, up.ServeHTTP).URL)
	for _, coding := range codings() {
		for _, path := range []string{"/v1/messages?beta=true", "/v1/messages/count_tokens"} {
			b.send("POST", path, pack(t, coding, spanBody), map[string]string{
				"Content-Encoding": coding, "Content-Digest": "sha-256=:x:", "X-Api-Key": "sk",
			})
			raw := up.last()
			got := unpack(t, coding, raw)
			if strings.Contains(got, "EXPLORED") || !strings.Contains(got, "THE REPORT") || !strings.HasPrefix(got, `{"model":"m", "tools"`) {
				t.Errorf("coding %q, %s: upstream got\n%s", coding, path, got)
			}
			if up.length != int64(len(raw)) || up.header.Get("Content-Digest") != "" || up.header.Get("X-Api-Key") != "sk" ||
				up.header.Get("Content-Encoding") != coding {
				t.Errorf("coding %q, %s: length %d of %d, headers %v", coding, path, up.length, len(raw), up.header)
			}
		}
	}
	other := "/v1/files"
	b.send("POST", other, spanBody, nil)
	if got := up.last(); string(got) != spanBody {
		t.Errorf("%s carries no history, and came changed:\n%s", other, got)
	}
}

func TestTheDaemonIsToldWhatARequestShowed(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"type":"message","usage":{"input_tokens":5,"cache_read_input_tokens":30,"cache_creation_input_tokens":7,"output_tokens":9}}`)
	})
	b := start(t, up.URL, func(o *proxy.Options) { o.Launch = "launch-1" })
	before, _, _ := strings.Cut(spanBody, "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t2\"")
	open := strings.TrimRight(before, ",\n") + "]}"
	header := map[string]string{"X-Claude-Code-Session-Id": "s1", "X-Api-Key": "sk-secret", "Authorization": "Bearer sk-secret"}
	for _, body := range []string{plainBody, open, spanBody, `{"messages":[{"role":"user","content":"a title?"}]}`} {
		text(t, b.send("POST", "/v1/messages", body, header))
	}
	header["X-Claude-Code-Agent-Id"] = "a1"
	text(t, b.send("POST", "/v1/messages", plainBody, header))
	text(t, b.send("POST", "/v1/messages/count_tokens", plainBody, header))
	b.end()
	d := b.daemon
	if len(d.seen) != 4 || len(d.figures) != 4 {
		t.Fatalf("told %d times what was seen, %d times figures: %s", len(d.seen), len(d.figures), strings.Join(d.all, "\n"))
	}
	if s := d.seen[0]; s.Open != nil || s.Completed || s.Spans != 0 || !s.Rewrites || s.Caller != (api.ConversationCaller{Agent: "claude", Session: "s1", Launch: "launch-1"}) {
		t.Errorf("no checkpoint: told %+v", s)
	}
	if s := d.seen[1]; s.Open == nil || s.Open.CallID != "t1" || s.Open.Goal != "g" || !s.Open.BatchEnded {
		t.Errorf("an open checkpoint: told %+v", s)
	}
	if s := d.seen[2]; s.Open != nil || !s.Completed || s.Spans != 1 {
		t.Errorf("a rewound one: told %+v", s)
	}
	if s := d.seen[3]; !s.Caller.Subagent || s.Caller.Session != "s1" {
		t.Errorf("a subagent: told %+v", s)
	}
	if f := d.figures[0]; f.Tokens != 42 || f.BytesBefore != int64(len(plainBody)) || f.BytesAfter != f.BytesBefore {
		t.Errorf("figures of a plain request: %+v", f)
	}
	if f := d.figures[2]; f.Tokens != 42 || f.BytesBefore != int64(len(spanBody)) || f.BytesAfter >= f.BytesBefore {
		t.Errorf("figures of a shortened request: %+v", f)
	}
	if all := strings.Join(d.all, "\n"); strings.Contains(all, "sk-secret") || strings.Contains(all, "EXPLORED") || strings.Contains(all, b.server.URL()[30:]) {
		t.Errorf("the daemon was told a key, a body or the secret:\n%s", all)
	}
}

// TestASearchByTheProviderIsNotTheConversation: Claude Code and Gemini CLI answer a
// call for a search by a request of its own, under the session's id, that offers
// the provider's search and has none of the history. It says nothing about the
// checkpoint that is open.
func TestASearchByTheProviderIsNotTheConversation(t *testing.T) {
	up := &echo{}
	b := start(t, upstream(t, up.ServeHTTP).URL)
	for path, tools := range map[string][]string{
		"/v1/messages": {
			`[{"type":"web_search_20250305","name":"web_search","max_uses":8}]`,
			`[ {"name":"web_fetch","type":"web_fetch_20260101"}, {"type":"code_execution_20250825","name":"code_execution"} ]`,
		},
		"/v1/responses":                      {`[{"type":"web_search"}]`},
		"/v1/models/g:streamGenerateContent": {`[{"googleSearch":{}}]`, `[{"google_search":{},"urlContext":{}}]`},
	} {
		for _, list := range tools {
			text(t, b.send("POST", path, `{"tools": `+list+`,"messages":[{"role":"user","content":"search for x"}]}`, map[string]string{"X-Claude-Code-Session-Id": "s1"}))
		}
	}
	for path, list := range map[string]string{
		"/v1/messages":                  `[{"type":"web_search_20250305","name":"web_search"},{"name":"Bash","input_schema":{"type":"object"}}]`,
		"/v1/responses":                 `[{"type":"web_search"},{"type":"function","name":"shell"}]`,
		"/v1/models/g:generateContent":  `[{"googleSearch":{}},{"functionDeclarations":[{"name":"sh"}]}]`,
		"/v1/models/g2:generateContent": `[{"googleSearch":{},"functionDeclarations":[{"name":"sh"}]}]`,
	} {
		text(t, b.send("POST", path, `{"tools": `+list+`,"messages":[{"role":"user","content":"hello"}]}`, nil))
	}
	b.end()
	if len(b.daemon.seen) != 4 || len(b.daemon.figures) != 4 {
		t.Errorf("told %d times what was seen, %d times figures, not 4 each: %s", len(b.daemon.seen), len(b.daemon.figures), strings.Join(b.daemon.all, "\n"))
	}
}

// TestASignedBodyIsNotChanged: the provider would refuse it.
func TestASignedBodyIsNotChanged(t *testing.T) {
	up := &echo{}
	b := start(t, upstream(t, up.ServeHTTP).URL)
	b.send("POST", "/v1/messages", spanBody, map[string]string{"X-Amz-Content-Sha256": "x"})
	b.end()
	if got := up.last(); string(got) != spanBody || len(b.daemon.seen) != 1 || !strings.Contains(b.daemon.seen[0].Reason, "signature") {
		t.Errorf("told %+v, upstream got\n%s", b.daemon.seen, got)
	}
}

// TestWhatADaemonMissedIsToldLater: it restarts while agents work.
func TestWhatADaemonMissedIsToldLater(t *testing.T) {
	up := &echo{}
	b := start(t, upstream(t, up.ServeHTTP).URL)
	b.daemon.down = true
	b.send("POST", "/v1/messages", plainBody, nil)
	time.Sleep(50 * time.Millisecond) // so that it was tried in vain
	b.daemon.mu.Lock()
	b.daemon.down = false
	b.daemon.mu.Unlock()
	b.end()
	if len(b.daemon.seen) != 1 || len(b.daemon.figures) != 1 {
		t.Errorf("told %v", b.daemon.all)
	}
}

func unpack(t *testing.T, coding string, body []byte) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		z, e := zstd.NewReader(r)
		defer z.Close()
		r, err = z, e
	}
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}
