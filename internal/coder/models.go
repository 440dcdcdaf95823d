package coder

import (
	"maps"
	"slices"
	"strings"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/coder/provider"
	"github.com/turnback/turnback/internal/coder/provider/anthropic"
	"github.com/turnback/turnback/internal/coder/provider/openai"
	"github.com/turnback/turnback/internal/config"
)

// Variables of the environment with keys and addresses.
const (
	anthropicKey = "ANTHROPIC_API_KEY"
	anthropicURL = "ANTHROPIC_BASE_URL"
	openaiKey    = "OPENAI_API_KEY"
	openaiURL    = "OPENAI_BASE_URL"
)

// models makes models by their names.
type models struct {
	config config.Agent
	getenv func(string) string
	data   func(session.Part) (string, error)
}

// picked is a model, and how much it can be given.
type picked struct {
	name   string
	model  provider.Model
	window int
}

func (o Options) models() models { return models{config: o.Config.Agent, getenv: o.Getenv} }

func (o Options) modelsOf(s *session.Session) models {
	m := o.models()
	m.data = s.Data
	return m
}

// pick makes the model of a name, PROVIDER/NAME.
func (m models) pick(full string) (picked, error) {
	if full == "" {
		return picked{}, api.Errorf(api.CodeInvalidParams, "which model? none is named").WithHint(api.Hint{
			Param: "model", Accepted: []string{"PROVIDER/NAME"}, Detail: "add --model, or set agent.model in the configuration",
		})
	}
	kind, name, ok := strings.Cut(full, "/")
	if !ok || name == "" {
		return picked{}, api.Errorf(api.CodeInvalidParams, "%q names no provider", full).WithHint(api.Hint{
			Param: "model", Accepted: m.providers(),
		})
	}
	p := picked{name: full, window: windowOf(full)}
	if m.config.Window > 0 {
		p.window = m.config.Window
	}
	endpoint, named := m.config.Endpoints[kind]
	switch {
	case named:
		p.model = openai.New(openai.Options{
			Label: kind, Name: name, BaseURL: endpoint.URL, Key: m.env(endpoint.KeyEnv), KeyVar: endpoint.KeyEnv,
			URLVar: "agent.endpoints." + kind + ".url", Data: m.data,
		})
	case kind == anthropic.Provider:
		p.model = anthropic.New(anthropic.Options{
			Name: name, BaseURL: m.env(anthropicURL), Key: m.env(anthropicKey), KeyVar: anthropicKey, URLVar: anthropicURL, Data: m.data,
		})
	case kind == openai.Provider:
		p.model = openai.New(openai.Options{
			Name: name, BaseURL: m.env(openaiURL), Key: m.env(openaiKey), KeyVar: openaiKey, URLVar: openaiURL, Data: m.data,
		})
	default:
		return picked{}, api.Errorf(api.CodeInvalidParams, "there is no provider %q", kind).WithHint(api.Hint{
			Param: "model", Accepted: m.providers(), Detail: "others are named below agent.endpoints in the configuration",
		})
	}
	return p, nil
}

func (m models) env(name string) string {
	if name == "" {
		return ""
	}
	return m.getenv(name)
}

func (m models) providers() []string {
	names := []string{anthropic.Provider + "/NAME", openai.Provider + "/NAME"}
	for _, name := range slices.Sorted(maps.Keys(m.config.Endpoints)) {
		names = append(names, name+"/NAME")
	}
	return names
}

// withoutKeys takes the keys of the providers out of an environment: what the
// model runs, and what it then reads, is kept in files.
func (m models) withoutKeys(environ []string) []string {
	keys := []string{anthropicKey, openaiKey}
	for _, e := range m.config.Endpoints {
		keys = append(keys, e.KeyEnv)
	}
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(keys, name)
	})
}

// windowOf is how many tokens a model can be given, as far as its name tells.
func windowOf(full string) int {
	name := full[strings.LastIndexByte(full, '/')+1:]
	for _, known := range []struct {
		start  string
		tokens int
	}{
		{"claude", 200_000},
		{"gpt-4.1", 1_000_000},
		{"gpt-4o", 128_000},
		{"gpt-4", 128_000},
		{"gpt-", 400_000},
		{"o1", 200_000},
		{"o3", 200_000},
		{"o4", 200_000},
		{"gemini", 1_000_000},
	} {
		if strings.HasPrefix(name, known.start) {
			return known.tokens
		}
	}
	return 128_000
}
