package proxy

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/turnback/turnback/conversation/collapse"
)

// Provider is whose requests an agent sends. It decides the upstream and the
// shape of errors; what a body is follows from its route.
type Provider string

// The providers.
const (
	Anthropic Provider = "anthropic"
	OpenAI    Provider = "openai"
	Gemini    Provider = "gemini"
)

// Providers are all of them, in the order they are shown.
func Providers() []Provider { return []Provider{Anthropic, OpenAI, Gemini} }

// DefaultUpstream is the provider's own base URL.
func (p Provider) DefaultUpstream() string {
	switch p {
	case OpenAI:
		return "https://api.openai.com/v1"
	case Gemini:
		return "https://generativelanguage.googleapis.com"
	default:
		return "https://api.anthropic.com"
	}
}

// Variable is the environment variable that agents take the base URL from.
func (p Provider) Variable() string {
	switch p {
	case OpenAI:
		return "OPENAI_BASE_URL"
	case Gemini:
		return "GOOGLE_GEMINI_BASE_URL"
	default:
		return "ANTHROPIC_BASE_URL"
	}
}

// CheckUpstream says why a base URL cannot be an upstream; nil: it can.
func CheckUpstream(u *url.URL) error {
	switch {
	case u == nil || u.Host == "":
		return errors.New("the upstream has no host")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the upstream's scheme is %q, not http or https", u.Scheme)
	case u.User != nil:
		return errors.New("the upstream has a user name in it; keys come from the agent")
	case u.Fragment != "":
		return errors.New("the upstream has a fragment")
	}
	return nil
}

// route is what a path that carries history wants.
type route struct {
	shape    collapse.Provider
	generate bool // it asks for an answer of the model, and not for a count
}

// routeOf finds a path that carries history. It goes by the end of the path:
// what stands before is the base URL that the agent was given.
func routeOf(method, path string) (route, bool) {
	if method != http.MethodPost {
		return route{}, false
	}
	path = strings.TrimSuffix(path, "/")
	for _, r := range []struct {
		end string
		route
	}{
		{"/messages", route{collapse.Anthropic, true}},
		{"/messages/count_tokens", route{collapse.Anthropic, false}},
		{"/responses", route{collapse.Responses, true}},
		{"/responses/compact", route{collapse.Responses, false}},
		{"/responses/input_tokens", route{collapse.Responses, false}},
		{"/chat/completions", route{collapse.Chat, true}},
		{":generateContent", route{collapse.Gemini, true}},
		{":streamGenerateContent", route{collapse.Gemini, true}},
		{":countTokens", route{collapse.Gemini, false}},
	} {
		if strings.HasSuffix(path, r.end) {
			return r.route, true
		}
	}
	return route{}, false
}
