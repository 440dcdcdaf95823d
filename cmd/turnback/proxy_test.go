//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// proxyProcess is `turnback proxy` as an agent's starter runs it.
type proxyProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	url    string // the first line
	exited chan error
}

func startProxy(t *testing.T, bin string, env []string, args ...string) *proxyProcess {
	t.Helper()
	p := &proxyProcess{t: t, exited: make(chan error, 1)}
	p.cmd = exec.Command(filepath.Join(bin, "turnback"), append([]string{"proxy"}, args...)...)
	home := t.TempDir()
	p.cmd.Env = append([]string{"HOME=" + home, "PATH=/usr/bin:/bin", "TURNBACK_SOCKET=" + filepath.Join(home, "s")}, env...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	p.url, _ = lines.ReadString('\n')
	p.url = strings.TrimSuffix(p.url, "\n")
	go func() { p.exited <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// status waits for the end.
func (p *proxyProcess) status() int {
	p.t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(10 * time.Second):
		p.t.Fatal("the proxy does not end")
		return 0
	}
}

// talkative is an upstream that answers, and then goes on without being asked.
func talkative(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				time.Sleep(50 * time.Millisecond) // it takes the connection for idle
				_, _ = io.WriteString(conn, "sk-unasked\r\n")
			}
		}
	}()
	return "http://" + listener.Addr().String()
}

func TestProxyProgram(t *testing.T) {
	bin := build(t)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "up "+r.URL.Path) }))
	t.Cleanup(up.Close)
	get := func(url string) (int, string) {
		r, err := http.Get(url)
		if err != nil {
			return 0, err.Error()
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(body)
	}
	t.Run("a signal ends it", func(t *testing.T) {
		p := startProxy(t, bin, []string{"HTTPS_PROXY=http://127.0.0.1:1"}, "anthropic", "--upstream", up.URL+"/base")
		if !regexp.MustCompile(`^http://127\.0\.0\.1:\d+/[0-9a-f]{32}$`).MatchString(p.url) {
			t.Fatalf("the first line is %q; %s", p.url, p.stderr.String())
		}
		if status, body := get(p.url + "/v1/models"); status != http.StatusOK || body != "up /base/v1/models" {
			t.Errorf("answer %d %q", status, body)
		}
		if status, body := get(p.url[:len(p.url)-1] + "/v1/models"); status != http.StatusNotFound {
			t.Errorf("a wrong secret gives %d %q", status, body)
		}
		_ = p.stdin.Close() // means nothing here
		time.Sleep(50 * time.Millisecond)
		if status, _ := get(p.url + "/v1/models"); status != http.StatusOK {
			t.Error("it ended with its input")
		}
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if status := p.status(); status != 0 || p.stderr.Len() > 0 {
			t.Errorf("status %d, %s", status, p.stderr.String())
		}
	})
	t.Run("what its library says of an upstream goes to no terminal", func(t *testing.T) {
		p := startProxy(t, bin, nil, "anthropic", "--upstream", talkative(t), "--until-eof")
		if status, body := get(p.url + "/v1/models"); status != http.StatusOK {
			t.Fatalf("answer %d %q", status, body)
		}
		time.Sleep(200 * time.Millisecond) // for what must not come
		_ = p.stdin.Close()
		if status := p.status(); status != 0 || p.stderr.Len() > 0 {
			t.Errorf("status %d, %s", status, p.stderr.String())
		}
	})
	t.Run("the end of its input ends it when asked to", func(t *testing.T) {
		p := startProxy(t, bin, []string{"OPENAI_BASE_URL=" + up.URL}, "openai", "--until-eof")
		if status, body := get(p.url + "/responses"); status != http.StatusOK || body != "up /responses" {
			t.Errorf("answer %d %q: the environment names the upstream", status, body)
		}
		_ = p.stdin.Close()
		if status := p.status(); status != 0 {
			t.Errorf("status %d, %s", status, p.stderr.String())
		}
	})
	t.Run("the configuration comes before the environment, the flag before both", func(t *testing.T) {
		config := t.TempDir()
		if err := os.MkdirAll(filepath.Join(config, "turnback"), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "[conversation.proxy]\nanthropic = \"" + up.URL + "/configured\"\n"
		if err := os.WriteFile(filepath.Join(config, "turnback", "config.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env := []string{"XDG_CONFIG_HOME=" + config, "ANTHROPIC_BASE_URL=" + up.URL + "/environment"}
		for want, args := range map[string][]string{
			"up /configured/v1/models": {"anthropic", "--until-eof"},
			"up /flag/v1/models":       {"anthropic", "--until-eof", "--upstream", up.URL + "/flag"},
		} {
			p := startProxy(t, bin, env, args...)
			if status, body := get(p.url + "/v1/models"); status != http.StatusOK || body != want {
				t.Errorf("%q: answer %d %q, want %q; %s", args, status, body, want, p.stderr.String())
			}
			_ = p.stdin.Close()
			p.status()
		}
	})
	t.Run("wrong usage", func(t *testing.T) {
		for _, args := range [][]string{{}, {"bedrock"}, {"anthropic", "--upstream", "ftp://h"}, {"anthropic", "--upstream", "http://u:sk-secret@h\x7f"}} {
			p := startProxy(t, bin, nil, args...)
			if status := p.status(); status != 2 || p.url != "" || strings.Contains(p.stderr.String(), "sk-secret") {
				t.Errorf("%q: status %d, %s", args, status, p.stderr.String())
			}
		}
	})
}
