package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/turnback/turnback/internal/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a proxy before an upstream of the test's.
type bench struct {
	t      *testing.T
	server *proxy.Server
	client *http.Client
	daemon *daemon
	end    func() // ends the proxy, and returns when it has
}

type change func(*proxy.Options)

// start runs a proxy that stands before an upstream until the test ends.
func start(t *testing.T, upstream string, changes ...change) *bench {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := proxy.NewTransport(proxy.Network{})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, daemon: &daemon{}}
	o := proxy.Options{Provider: proxy.Anthropic, Upstream: u, Transport: transport, Daemon: b.daemon, Now: time.Now}
	for _, c := range changes {
		c(&o)
	}
	b.server, err = proxy.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(ctx) }()
	own := &http.Transport{DisableCompression: true}
	b.client = &http.Client{Transport: own, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	var once sync.Once
	b.end = func() {
		once.Do(func() {
			cancel()
			if err := <-served; err != nil {
				t.Errorf("Serve: %v", err)
			}
			own.CloseIdleConnections()
			transport.CloseIdleConnections()
		})
	}
	t.Cleanup(b.end)
	return b
}

// upstream is a provider that does as a test says.
func upstream(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

// send sends a request through the proxy; path is what an agent puts behind its
// base URL.
func (b *bench) send(method, path, body string, header map[string]string) *http.Response {
	b.t.Helper()
	r, err := http.NewRequest(method, b.server.URL()+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return string(body)
}

// raw sends bytes to the proxy and reads the answer.
func (b *bench) raw(request string) *http.Response {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.server.Address())
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		b.t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return response
}

func TestEverythingPassesAsItCame(t *testing.T) {
	type got struct {
		Method, URI, Host, Body string
		Header                  http.Header
	}
	var mu sync.Mutex
	var seen got
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		seen = got{r.Method, r.RequestURI, r.Host, string(body), r.Header.Clone()}
		mu.Unlock()
		w.Header().Set("Request-Id", "req_1")
		w.Header()["Set-Cookie"] = []string{"a=1", "b=2"}
		w.Header().Set("Trailer", "X-Checksum")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "an answer")
		w.Header().Set("X-Checksum", "42")
	})
	b := start(t, up.URL+"/base%2Fpath")
	for _, path := range []string{
		"/v1/messages?beta=true&x=a;b&y=%zz",
		"/v1//models/a%2Fb/c:generateContent?key=k",
		"/unknown",
		"/",
	} {
		response := b.send("POST", path, `{"x":1.0,"x":2}`, map[string]string{
			"Authorization": "Bearer k", "X-Api-Key": "sk", "Anthropic-Beta": "b1,b2", "X-Forwarded-For": "1.2.3.4",
			"Accept-Encoding": "br", "Te": "trailers", "User-Agent": "agent/1",
		})
		body := text(t, response)
		mu.Lock()
		want := got{
			"POST", "/base%2Fpath" + path, strings.TrimPrefix(up.URL, "http://"), `{"x":1.0,"x":2}`,
			http.Header{
				"Authorization": {"Bearer k"}, "X-Api-Key": {"sk"}, "Anthropic-Beta": {"b1,b2"}, "X-Forwarded-For": {"1.2.3.4"},
				"Accept-Encoding": {"br"}, "Te": {"trailers"}, "User-Agent": {"agent/1"}, "Content-Length": {"15"},
			},
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s: upstream got (-want +got):\n%s", path, diff)
		}
		mu.Unlock()
		if response.StatusCode != http.StatusTeapot || body != "an answer" || response.Header.Get("Request-Id") != "req_1" ||
			len(response.Header["Set-Cookie"]) != 2 || response.Trailer.Get("X-Checksum") != "42" {
			t.Errorf("%s: answer %d %q, headers %v, trailers %v", path, response.StatusCode, body, response.Header, response.Trailer)
		}
	}
}

func TestRequestsOfOthersAreRefused(t *testing.T) {
	var reached atomic.Int32
	up := upstream(t, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	b := start(t, up.URL)
	addr, secret := b.server.Address(), strings.TrimPrefix(b.server.URL(), "http://"+b.server.Address())
	if len(secret) != 33 {
		t.Errorf("the secret is %q", secret)
	}
	for name, test := range map[string]struct {
		request string
		want    int
	}{
		"no secret":         {"POST /v1/messages HTTP/1.1\r\nHost: " + addr + "\r\n", 404},
		"wrong secret":      {"POST /0123456789abcdef0123456789abcdef/v1/messages HTTP/1.1\r\nHost: " + addr + "\r\n", 404},
		"start of secret":   {"POST " + secret[:20] + "/v1/messages HTTP/1.1\r\nHost: " + addr + "\r\n", 404},
		"empty secret":      {"POST // HTTP/1.1\r\nHost: " + addr + "\r\n", 404},
		"wrong header":      {"POST " + secret + "/v1/messages HTTP/1.1\r\nHost: " + addr + "\r\nX-Turnback-Secret: x\r\n", 404},
		"foreign host":      {"POST " + secret + "/v1/messages HTTP/1.1\r\nHost: evil.example\r\n", 403},
		"other port":        {"POST " + secret + "/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:1\r\n", 403},
		"origin":            {"POST " + secret + "/v1/messages HTTP/1.1\r\nHost: " + addr + "\r\nOrigin: http://" + addr + "\r\n", 403},
		"empty origin":      {"POST " + secret + "/v1/messages HTTP/1.1\r\nHost: " + addr + "\r\nOrigin:\r\n", 403},
		"preflight":         {"OPTIONS " + secret + "/v1/messages HTTP/1.1\r\nHost: " + addr + "\r\nOrigin: null\r\n", 403},
		"connect":           {"CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: api.anthropic.com:443\r\n", 405},
		"absolute form":     {"GET http://" + addr + secret + "/v1/models HTTP/1.1\r\nHost: " + addr + "\r\n", 400},
		"absolute, foreign": {"GET http://api.anthropic.com/v1/models HTTP/1.1\r\nHost: api.anthropic.com\r\n", 400},
		"asterisk":          {"OPTIONS * HTTP/1.1\r\nHost: " + addr + "\r\n", 400},
	} {
		response := b.raw(test.request + "Content-Length: 0\r\n\r\n")
		body := text(t, response)
		if response.StatusCode != test.want && name != "asterisk" {
			t.Errorf("%s: status %d, want %d: %s", name, response.StatusCode, test.want, body)
		}
		if strings.Contains(body, secret[1:]) {
			t.Errorf("%s: the answer tells the secret: %s", name, body)
		}
	}
	if n := reached.Load(); n > 0 {
		t.Errorf("%d requests went upstream", n)
	}
	for name, request := range map[string]string{
		"localhost": "GET " + secret + "/v1/models HTTP/1.1\r\nHost: LOCALHOST:" + strings.Split(addr, ":")[1] + "\r\n\r\n",
		"header":    "GET /v1/models HTTP/1.1\r\nHost: " + addr + "\r\nX-Turnback-Secret: " + secret[1:] + "\r\n\r\n",
	} {
		if response := b.raw(request); response.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", name, response.StatusCode)
		}
	}
	if n := reached.Load(); n != 2 {
		t.Errorf("%d requests went upstream, want the 2 that may", n)
	}
}

func TestTheSecretGoesNotUpstream(t *testing.T) {
	leaks := make(chan string, 2)
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		var all bytes.Buffer
		_ = r.Write(&all)
		leaks <- all.String()
	})
	b := start(t, up.URL, func(o *proxy.Options) { o.Secret = "a-secret-of-many-characters" })
	b.send("GET", "/v1/models", "", map[string]string{"X-Turnback-Secret": ""})
	b.raw("GET /v1/models HTTP/1.1\r\nHost: " + b.server.Address() + "\r\nX-Turnback-Secret: a-secret-of-many-characters\r\n\r\n")
	for range 2 {
		if got := <-leaks; strings.Contains(strings.ToLower(got), "secret") {
			t.Errorf("upstream got\n%s", got)
		}
	}
}

// TestAStreamIsNotHeldBack: each piece of an answer is there before the upstream
// sends the next, compressed or not.
func TestAStreamIsNotHeldBack(t *testing.T) {
	for _, coding := range []string{"", "gzip"} {
		t.Run("coding "+coding, func(t *testing.T) {
			gate := make(chan struct{})
			up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				if coding != "" {
					w.Header().Set("Content-Encoding", coding)
				}
				for i := range 3 {
					_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
					w.(http.Flusher).Flush()
					<-gate
				}
			})
			b := start(t, up.URL)
			response := b.send("POST", "/v1/messages", plainBody, nil)
			lines := bufio.NewReader(response.Body)
			for i := range 3 {
				line, err := lines.ReadString('\n')
				if want := fmt.Sprintf("data: %d\n", i); line != want || err != nil {
					t.Fatalf("got %q, %v, want %q", line, err, want)
				}
				_, _ = lines.ReadString('\n')
				gate <- struct{}{}
			}
		})
	}
}

func TestAnUpgradeIsATunnel(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || !strings.EqualFold(r.Header.Get("Connection"), "upgrade") {
			t.Errorf("upstream got the headers %v", r.Header)
		}
		conn, both, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n")
		_, _ = io.Copy(conn, both)
	})
	b := start(t, up.URL)
	conn, err := net.Dial("tcp", b.server.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = fmt.Fprintf(conn, "GET /%s/v1/responses HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		strings.TrimPrefix(b.server.URL(), "http://"+b.server.Address()+"/"), b.server.Address())
	in := bufio.NewReader(conn)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Sec-WebSocket-Accept") != "x" {
		t.Fatalf("answer %v, %v", response, err)
	}
	for range 3 {
		_, _ = io.WriteString(conn, "ping")
		echo := make([]byte, 4)
		if _, err := io.ReadFull(in, echo); err != nil || string(echo) != "ping" {
			t.Fatalf("echo %q, %v", echo, err)
		}
	}
	b.end() // also with a tunnel that is open
	if _, err := in.ReadByte(); err == nil {
		t.Error("the tunnel lives on after the proxy")
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	other := upstream(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	b := start(t, up.URL)
	response := b.send("POST", "/v1/messages", plainBody, map[string]string{"X-Api-Key": "sk"})
	if response.StatusCode != http.StatusTemporaryRedirect || response.Header.Get("Location") != other.URL {
		t.Errorf("answer %d to %q", response.StatusCode, response.Header.Get("Location"))
	}
	if elsewhere.Load() > 0 {
		t.Error("it was followed")
	}
}

// errorText reads an error in a provider's shape.
func errorText(t *testing.T, p proxy.Provider, body string) string {
	t.Helper()
	var e struct {
		Type  string
		Error struct {
			Type, Message, Status string
			Code                  any
		}
	}
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		t.Fatalf("answer %q: %v", body, err)
	}
	ok := e.Error.Type != ""
	switch p {
	case proxy.Anthropic:
		ok = ok && e.Type == "error"
	case proxy.Gemini:
		ok = e.Error.Status != "" && e.Error.Code != nil
	}
	if !ok || !strings.HasPrefix(e.Error.Message, "turnback proxy: ") {
		t.Errorf("%s: not the provider's shape: %s", p, body)
	}
	return e.Error.Message
}

func TestAnUpstreamThatIsDown(t *testing.T) {
	up := httptest.NewServer(http.NotFoundHandler())
	up.Close()
	for _, p := range proxy.Providers() {
		b := start(t, up.URL, func(o *proxy.Options) { o.Provider = p })
		response := b.send("POST", "/v1/messages?key=sk-secret", plainBody, nil)
		body := text(t, response)
		message := errorText(t, p, body)
		if response.StatusCode != http.StatusBadGateway || !strings.Contains(message, "connection refused") || strings.Contains(body, "sk-secret") {
			t.Errorf("%s: %d %s", p, response.StatusCode, message)
		}
	}
}

// TestAnUpstreamThatDropsARequestIsAskedOnce: also over a connection that was
// used before, and for requests that HTTP allows to be sent again.
func TestAnUpstreamThatDropsARequestIsAskedOnce(t *testing.T) {
	var asked atomic.Int32
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/first" {
			return
		}
		asked.Add(1)
		panic(http.ErrAbortHandler)
	})
	up.Config.ErrorLog = nil
	b := start(t, up.URL)
	for name, send := range map[string]func() *http.Response{
		"POST": func() *http.Response { return b.send("POST", "/v1/messages", plainBody, nil) },
		"POST with a key of its own": func() *http.Response {
			return b.send("POST", "/v1/messages", plainBody, map[string]string{"Idempotency-Key": "k"})
		},
		"GET": func() *http.Response { return b.send("GET", "/v1/models", "", nil) },
	} {
		if r := b.send("GET", "/first", "", nil); r.StatusCode != http.StatusOK {
			t.Fatal("the connection was not made")
		}
		asked.Store(0)
		response := send()
		message := errorText(t, proxy.Anthropic, text(t, response))
		if response.StatusCode != http.StatusBadGateway || asked.Load() != 1 {
			t.Errorf("%s: asked %d times, answer %d %s", name, asked.Load(), response.StatusCode, message)
		}
	}
}

func TestAnUpstreamThatIsSlow(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/stream" {
			_, _ = io.WriteString(w, "begun")
			w.(http.Flusher).Flush()
		}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	b := start(t, up.URL, func(o *proxy.Options) { o.HeaderWait, o.IdleWait = 50*time.Millisecond, 50*time.Millisecond })
	response := b.send("POST", "/v1/messages", plainBody, nil)
	message := errorText(t, proxy.Anthropic, text(t, response))
	if response.StatusCode != http.StatusGatewayTimeout || !strings.Contains(message, "in time") {
		t.Errorf("answer %d %s", response.StatusCode, message)
	}
	response = b.send("GET", "/v1/stream", "", nil)
	body, err := io.ReadAll(response.Body)
	if string(body) != "begun" || err == nil {
		t.Errorf("a stream that stops gives %q, error %v", body, err)
	}
}

// TestAStreamThatIsCutLooksCut: an agent must not take half an answer for whole.
func TestAStreamThatIsCutLooksCut(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	b := start(t, up.URL)
	response := b.send("POST", "/v1/messages", plainBody, nil)
	body, err := io.ReadAll(response.Body)
	if string(body) != "data: {}\n\n" || err == nil {
		t.Errorf("got %q, error %v", body, err)
	}
}

// TestAClientThatLeavesIsNotAnsweredOn: what it asked for costs money.
func TestAClientThatLeavesEndsTheRequestUpstream(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan struct{})
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(begun)
		<-r.Context().Done()
		close(gone)
	})
	b := start(t, up.URL)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "POST", b.server.URL()+"/v1/messages", strings.NewReader(plainBody))
	if err != nil {
		t.Fatal(err)
	}
	go func() { <-begun; leave() }()
	if response, err := b.client.Do(r); err == nil {
		_ = response.Body.Close()
		t.Error("there was an answer")
	}
	<-gone
}

func TestTheEndOfTheProxyEndsRequests(t *testing.T) {
	begun := make(chan struct{})
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		close(begun)
		<-r.Context().Done()
	})
	b := start(t, up.URL)
	response := b.send("GET", "/v1/x", "", nil)
	<-begun
	from := time.Now()
	b.end()
	if took := time.Since(from); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("the answer looks whole")
	}
}
