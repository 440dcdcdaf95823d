package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/proxy"
)

// long is a conversation of about size bytes: the message of spanBody, or of
// plainBody, behind many turns of talk.
func long(body string, size int) string {
	head, tail, _ := strings.Cut(body, `"messages":[`)
	turn := `{"role":"user","content":[{"type":"text","text":"` + strings.Repeat("a line of a file; ", 100) + `"}]},{"role":"assistant","content":[{"type":"text","text":"` + strings.Repeat("thought about it; ", 100) + `"}]},`
	return head + `"messages":[` + strings.Repeat(turn, size/len(turn)) + tail
}

// BenchmarkRequest measures what the proxy adds: each request is sent to the
// upstream itself and through the proxy, in turn.
func BenchmarkRequest(b *testing.B) {
	for _, bench := range []struct{ name, body string }{
		{"2 KB", plainBody + strings.Repeat(" ", 2<<10)},
		{"500 KB without a span", long(plainBody, 500<<10)},
		{"5 MB without a span", long(plainBody, 5<<20)},
		{"5 MB with a span", long(spanBody, 5<<20)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, `{"usage":{"input_tokens":1}}`)
			}))
			defer up.Close()
			server, end := serve(b, up.URL)
			defer end()
			var direct, through time.Duration
			for b.Loop() {
				direct += post(b, up.URL, bench.body)
				through += post(b, server.URL(), bench.body)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(direct.Microseconds())/1000/float64(b.N), "ms-direct")
			b.ReportMetric(float64((through-direct).Microseconds())/1000/float64(b.N), "ms-added")
		})
	}
}

func serve(b *testing.B, upstream string) (*proxy.Server, func()) {
	b.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		b.Fatal(err)
	}
	transport, err := proxy.NewTransport(proxy.Network{})
	if err != nil {
		b.Fatal(err)
	}
	server, err := proxy.Listen(proxy.Options{Provider: proxy.Anthropic, Upstream: u, Transport: transport, Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(b.Context()) }()
	return server, func() {
		transport.CloseIdleConnections()
		http.DefaultClient.CloseIdleConnections()
	}
}

func post(b *testing.B, base, body string) time.Duration {
	b.Helper()
	from := time.Now()
	r, err := http.Post(base+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	_, err = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	if err != nil || r.StatusCode != http.StatusOK {
		b.Fatal(r.Status, err)
	}
	return time.Since(from)
}
