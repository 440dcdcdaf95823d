package proxy_test

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/turnback/turnback/internal/proxy"
)

func TestAnUpstreamThatSpeaksHTTP2(t *testing.T) {
	var protocol atomic.Value
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		protocol.Store(r.Proto)
		_, _ = w.Write(body)
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	t.Cleanup(up.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: up.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	transport, err := proxy.NewTransport(proxy.Network{ExtraCA: ca})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	b := start(t, up.URL, func(o *proxy.Options) { o.Transport = transport })
	if got := text(t, b.send("POST", "/v1/messages", plainBody, nil)); got != plainBody || protocol.Load() != "HTTP/2.0" {
		t.Errorf("%v gave %q", protocol.Load(), got)
	}
	other := start(t, up.URL) // does not know the certificate
	response := other.send("POST", "/v1/messages", plainBody, nil)
	if message := text(t, response); response.StatusCode != http.StatusBadGateway || !strings.Contains(message, "certificate") {
		t.Errorf("an unknown certificate gives %d %s", response.StatusCode, message)
	}
}

func TestExtraCertificatesThatAreNone(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(empty, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{empty, empty + ".missing"} {
		if _, err := proxy.NewTransport(proxy.Network{ExtraCA: path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

// TestTheCallersProxyIsUsed: a company's network may have no other way out.
func TestTheCallersProxyIsUsed(t *testing.T) {
	var asked atomic.Value
	company := upstream(t, func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.URL.String()) })
	at, err := url.Parse(company.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := proxy.NewTransport(proxy.Network{Proxy: http.ProxyURL(at)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	b := start(t, "http://provider.example/base", func(o *proxy.Options) { o.Transport = transport })
	b.send("GET", "/v1/models", "", nil)
	if asked.Load() != "http://provider.example/base/v1/models" {
		t.Errorf("the company's proxy was asked for %v", asked.Load())
	}
}

func TestWhatCannotBeAnUpstream(t *testing.T) {
	for base, ok := range map[string]bool{
		"https://api.anthropic.com": true, "http://127.0.0.1:1/base": true, "https://h/b?api-version=1": true,
		"ftp://h": false, "/path": false, "https://": false, "https://u:p@h": false, "https://h/#f": false, "api.anthropic.com": false,
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if err := proxy.CheckUpstream(u); (err == nil) != ok {
			t.Errorf("%s: %v", base, err)
		}
	}
}
