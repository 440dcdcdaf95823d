package proxy

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// SecretHeader carries the secret of a launch where an agent takes a base URL
// only in its arguments, which others can read, but a header from its
// environment. It does not go upstream.
const SecretHeader = "X-Turnback-Secret"

// target is where a request wants to go, below the upstream's base URL.
type target struct {
	path  string // as it was sent, still escaped; begins with a slash
	query string // as it was sent
}

// admit says what a request asks for, or why it may not. A page in a browser
// cannot leave out Origin or choose Host; other users of the machine do not know
// the secret.
func (s *Server) admit(r *http.Request) (target, *failure) {
	uri := r.RequestURI
	switch {
	case r.Method == http.MethodConnect:
		return target{}, &failure{http.StatusMethodNotAllowed, "CONNECT is not served here"}
	case !strings.HasPrefix(uri, "/"):
		return target{}, &failure{http.StatusBadRequest, "only paths are served here, no whole URLs"}
	case !slices.Contains(s.hosts, strings.ToLower(r.Host)):
		return target{}, &failure{http.StatusForbidden, "this host is not served here"}
	case len(r.Header.Values("Origin")) > 0:
		return target{}, &failure{http.StatusForbidden, "requests of web pages are not served here"}
	}
	path, query, _ := strings.Cut(uri, "?")
	path, ok := s.withoutSecret(path, r.Header.Get(SecretHeader))
	if !ok {
		return target{}, &failure{http.StatusNotFound, "not found"}
	}
	if _, err := url.PathUnescape(path); err != nil {
		return target{}, &failure{http.StatusBadRequest, "the path does not parse"}
	}
	return target{path: path, query: query}, nil
}

func (s *Server) withoutSecret(path, header string) (string, bool) {
	if header != "" {
		return path, same(header, s.o.Secret)
	}
	first, rest, _ := strings.Cut(path[1:], "/")
	return "/" + rest, same(first, s.o.Secret)
}

// same compares in a time that tells nothing.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
