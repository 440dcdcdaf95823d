package proxy

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// Limits that hold when Options do not say otherwise.
const (
	defaultMaxBody    = 64 << 20         // bytes of a body that is looked at, also after it is decompressed
	defaultHeaderWait = 15 * time.Minute // until an upstream begins to answer; agents give up at 10
	defaultIdleWait   = 15 * time.Minute // between two pieces of an answer
	defaultGrace      = time.Second      // for requests under way when the proxy ends
	headerReadWait    = 30 * time.Second // for the head of a request
)

// Options say what a proxy stands between.
type Options struct {
	Provider  Provider
	Upstream  *url.URL          // see CheckUpstream
	Transport http.RoundTripper // see NewTransport; must not follow redirects or decompress
	Daemon    Caller            // is told what requests showed; nil: nobody is
	Now       func() time.Time

	Agent      string        // the agent's name; empty: its headers say
	Launch     string        // the public id of the launch; empty: none
	Secret     string        // at least 16 characters of a URL's path; empty: a new one
	MaxBody    int64         // bytes; 0: 64 MiB
	HeaderWait time.Duration // 0: 15 minutes
	IdleWait   time.Duration // 0: 15 minutes
}

// Server is a proxy that has an address.
type Server struct {
	o        Options
	listener net.Listener
	hosts    []string // what a request's Host may be
	forward  *httputil.ReverseProxy
	tell     *teller
}

// Listen takes a port of the loopback. Serve has to follow, or Close.
func Listen(o Options) (*Server, error) {
	if err := CheckUpstream(o.Upstream); err != nil {
		return nil, err
	}
	if o.Secret == "" {
		secret, err := NewSecret()
		if err != nil {
			return nil, err
		}
		o.Secret = secret
	}
	o.MaxBody = cmp.Or(o.MaxBody, defaultMaxBody)
	o.HeaderWait, o.IdleWait = cmp.Or(o.HeaderWait, defaultHeaderWait), cmp.Or(o.IdleWait, defaultIdleWait)
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on the loopback: %w", err)
	}
	s := &Server{o: o, listener: listener, tell: newTeller(o.Daemon)}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on the loopback: %w", err), listener.Close())
	}
	s.hosts = []string{"127.0.0.1:" + port, "localhost:" + port}
	s.forward = s.newForward()
	return s, nil
}

// NewSecret is 128 random bits, in 32 characters.
func NewSecret() (string, error) {
	var raw [16]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return hex.EncodeToString(raw[:]), nil
}

// Address is where the proxy listens, host and port.
func (s *Server) Address() string { return s.hosts[0] }

// URL is the base URL for an agent. Whoever has it can use the proxy.
func (s *Server) URL() string { return "http://" + s.hosts[0] + "/" + s.o.Secret }

// Close frees the port of a server that never served.
func (s *Server) Close() error { return s.listener.Close() }

// Serve answers until ctx ends, and returns when every request has.
func (s *Server) Serve(ctx context.Context) error {
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	web := &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		ReadHeaderTimeout: headerReadWait,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          log.New(io.Discard, "", 0), // it would name what a client sent
	}
	ended := make(chan struct{})
	telling := make(chan struct{})
	listening, quiet := context.WithCancel(requests)
	go func() { defer close(telling); s.tell.run(listening) }()
	defer func() { quiet(); <-telling }()
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		grace, done := context.WithTimeout(requests, defaultGrace)
		defer done()
		if web.Shutdown(grace) != nil {
			cut() // the answers end, and with them the requests
			_ = web.Close()
		}
	})
	err := web.Serve(s.listener)
	if !stop() {
		<-ended
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve on the loopback: %w", err)
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	target, refusal := s.admit(r)
	if refusal != nil {
		s.fail(w, refusal)
		return
	}
	s.pass(w, r, target)
}
