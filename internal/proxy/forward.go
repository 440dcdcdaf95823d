package proxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Why the proxy itself ended a request to the upstream.
var (
	errHeaderWait = errors.New("it did not begin to answer in time")
	errIdleWait   = errors.New("it stopped in the middle of an answer")
	errNoRetry    = errors.New("the connection broke")
)

// exchange is one request on its way, from handler to answer.
type exchange struct {
	target target
	route  route
	known  bool // route is one
	cancel context.CancelCauseFunc
	seen   *observer // nil: nothing is told about it
}

// exchangeKey is the context key of an *exchange.
type exchangeKey struct{}

func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	return x
}

// pass sends a request on and its answer back.
func (s *Server) pass(w http.ResponseWriter, r *http.Request, t target) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	x := &exchange{target: t, cancel: cancel}
	x.route, x.known = routeOf(r.Method, t.path)
	r = r.WithContext(context.WithValue(ctx, exchangeKey{}, x))
	if x.known {
		if err := s.collapseRequest(r, x); err != nil {
			panic(http.ErrAbortHandler) // the agent went away while it sent the body
		}
	}
	defer x.seen.done()
	s.forward.ServeHTTP(w, r)
}

func (s *Server) newForward() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        s.rewrite,
		Transport:      limited{s.o.Transport, s.o.HeaderWait, s.o.IdleWait},
		FlushInterval:  -1, // each piece at once
		ModifyResponse: observe,
		ErrorHandler:   s.unreachable,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
}

// rewrite makes what goes upstream. What httputil leaves out as a matter of
// course and the agent sent goes along too.
func (s *Server) rewrite(p *httputil.ProxyRequest) {
	t := exchangeOf(p.In).target
	p.Out.URL = join(s.o.Upstream, t)
	p.Out.Host = s.o.Upstream.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values := p.In.Header.Values(name); len(values) > 0 {
			p.Out.Header[name] = values
		}
	}
	p.Out.Header.Del(SecretHeader)
	p.Out.Trailer = p.In.Trailer // filled while the body is read
}

// join puts a request's path behind a base URL, both as they were written.
func join(base *url.URL, t target) *url.URL {
	u := *base
	u.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + t.path
	path, err := url.PathUnescape(u.RawPath)
	if err != nil {
		path = u.RawPath // admit and CheckUpstream saw that it parses
	}
	u.Path = path
	switch {
	case base.RawQuery == "":
		u.RawQuery = t.query
	case t.query != "":
		u.RawQuery = base.RawQuery + "&" + t.query
	}
	return &u
}

// unreachable answers when no answer came.
func (s *Server) unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if cause := context.Cause(r.Context()); cause != nil {
		err = cause
	}
	status := http.StatusBadGateway
	if late, ok := errors.AsType[net.Error](err); errors.Is(err, errHeaderWait) || ok && late.Timeout() {
		status = http.StatusGatewayTimeout
	}
	s.fail(w, &failure{status, "no answer from " + s.o.Upstream.Host + ": " + plain(err)})
}

// plain is an error without the URL that it may hold, in which a key can stand.
func plain(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it closed the connection"
	}
	return err.Error()
}

// limited sees to it that a request ends, and is sent once: the transport would
// send some again over another connection.
type limited struct {
	next                 http.RoundTripper
	headerWait, idleWait time.Duration
}

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r)
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) {
			if sent.Load() {
				x.cancel(errNoRetry)
			}
		},
		WroteHeaders: func() { sent.Store(true) },
	}
	timer := time.AfterFunc(l.headerWait, func() { x.cancel(errHeaderWait) })
	response, err := l.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	timer.Stop()
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		response.Body = newIdleBody(response.Body, l.idleWait, func() { x.cancel(errIdleWait) })
	}
	return response, nil
}

// idleBody ends an answer of which nothing more comes.
type idleBody struct {
	io.ReadCloser
	wait  time.Duration
	timer *time.Timer
}

func newIdleBody(body io.ReadCloser, wait time.Duration, end func()) *idleBody {
	return &idleBody{ReadCloser: body, wait: wait, timer: time.AfterFunc(wait, end)}
}

func (b *idleBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.timer.Reset(b.wait)
	return n, err
}

func (b *idleBody) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}
