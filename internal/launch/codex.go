package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/turnback/turnback/internal/agents/codex"
	"github.com/turnback/turnback/internal/api"
)

// codexOwn is the id under which Codex's own provider runs through the proxy:
// its own cannot be given headers.
const codexOwn = "turnback"

// secretHeader carries the proxy's secret: Codex takes a base URL in its
// arguments, which others can read, and a header from its environment.
const secretHeader = "X-Turnback-Secret"

// codexConfig is what matters here of Codex's configuration.
type codexConfig struct {
	ModelProvider string                   `toml:"model_provider"`
	OpenAIBaseURL string                   `toml:"openai_base_url"`
	Providers     map[string]codexProvider `toml:"model_providers"`
}

type codexProvider struct {
	BaseURL string `toml:"base_url"`
}

// codex plans Codex.
func (p *Plan) codex() error {
	p.Provider = "openai"
	config, err := p.codexConfig()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(p.options.Args, func(a string) bool { return a == "--oss" || a == "--remote" || strings.HasPrefix(a, "--remote=") }) {
		return unsupported("Codex with --oss or --remote was never tested with a proxy")
	}
	id := config.ModelProvider
	switch provider, known := config.Providers[id]; {
	case id == "" || id == "openai":
		if err := p.codexLogin(); err != nil {
			return err
		}
		id, p.Upstream = "", config.OpenAIBaseURL
		p.Notes = append(p.Notes, "Codex's API login was tested with the scripted model alone, and its sessions are listed under the provider "+codexOwn)
	case !known || provider.BaseURL == "":
		return unsupported("Codex's model provider %q has no base_url in its configuration, so it is not known where its requests go", id).
			WithHint(api.Hint{Param: "model_provider"})
	case strings.Contains(id, "."): // Codex takes every dot for a step into a table
		return unsupported("Codex's model provider %q has a dot in its name, so its settings cannot be set for one process; give it another name", id).
			WithHint(api.Hint{Param: "model_provider"})
	default:
		p.Upstream = provider.BaseURL
	}
	p.wire = func(c *Command, _, base string) error { return p.wireCodex(c, id, base) }
	return nil
}

// codexConfig reads the configuration as far as it names the provider: the
// person's, a profile's over it, and what -c says over both.
func (p *Plan) codexConfig() (codexConfig, error) {
	var config codexConfig
	files := []string{"config.toml"}
	if profile, ok := flagValue(p.options.Args, "--profile", "-p"); ok {
		files = append(files, profile+".config.toml")
	}
	for _, name := range files {
		path := filepath.Join(p.codexHome(), name)
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = toml.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &config) // Codex takes a byte order mark
		}
		if err != nil {
			return config, unsupported("%s cannot be read, so it is not known where Codex sends its requests: %v", path, err)
		}
	}
	for _, set := range flagValues(p.options.Args, "-c", "--config") {
		key, value, _ := strings.Cut(set, "=")
		switch key = strings.TrimSpace(key); {
		case key == "model_provider":
			config.ModelProvider = unquoted(value)
		case key == "openai_base_url":
			config.OpenAIBaseURL = unquoted(value)
		case strings.HasPrefix(key, "model_providers"):
			return config, unsupported("-c %s: a model provider that is set on the command line is not looked into; put it into Codex's configuration", key)
		}
	}
	return config, nil
}

func (p *Plan) codexHome() string {
	if home := p.options.getenv("CODEX_HOME"); home != "" {
		return home
	}
	return filepath.Join(p.options.getenv("HOME"), ".codex")
}

// codexLogin refuses logins that are no API key.
func (p *Plan) codexLogin() error {
	if p.options.Configured[p.Provider] != "" || p.options.getenv("CODEX_API_KEY") != "" {
		return nil
	}
	var auth struct {
		Key  string `json:"OPENAI_API_KEY"`
		Mode string `json:"auth_mode"`
	}
	text, err := os.ReadFile(filepath.Join(p.codexHome(), "auth.json"))
	if err == nil {
		err = json.Unmarshal(text, &auth)
	}
	if err != nil || auth.Key == "" || auth.Mode != "" && auth.Mode != "apikey" {
		return unsupported("Codex's login is no API key, and a login of another kind (ChatGPT) was never tested with a proxy").
			WithHint(api.Hint{Command: "codex login --with-api-key", Detail: "or set CODEX_API_KEY"})
	}
	return nil
}

// wireCodex gives Codex the base URL and the MCP server by its own -c, before
// the person's arguments, which so can still change them.
func (p *Plan) wireCodex(c *Command, id, base string) error {
	u, err := url.Parse(base)
	if err != nil {
		return fmt.Errorf("read the proxy's URL: %w", err)
	}
	c.set(ProxySecret, strings.Trim(u.Path, "/"))
	u.Path = ""
	var sets []string
	if id == "" {
		sets = append(sets, "model_provider="+quoted(codexOwn), fmt.Sprintf(
			"model_providers.%s={name=%q, base_url=%s, wire_api=%q, requires_openai_auth=true, supports_websockets=false, env_http_headers={%s=%q}}",
			codexOwn, "OpenAI", quoted(u.String()), "responses", secretHeader, ProxySecret,
		))
	} else {
		table := "model_providers." + id
		sets = append(sets,
			table+".base_url="+quoted(u.String()), table+".supports_websockets=false",
			table+".env_http_headers."+secretHeader+"="+quoted(ProxySecret),
		)
	}
	pass := []string{"TURNBACK_LAUNCH", "TURNBACK_SOCKET", "TURNBACK_NO_DAEMON", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"}
	for i := range pass {
		pass[i] = quoted(pass[i])
	}
	sets = append(sets, fmt.Sprintf(
		"mcp_servers.turnback={command=%s, args=[%q, %q], env_vars=[%s], default_tools_approval_mode=%q}",
		quoted(p.options.Self), "mcp", "--conversation", strings.Join(pass, ", "), "approve",
	))
	hooks, err := codex.Hooks(p.options.Self)
	if err != nil {
		return err
	}
	sets = append(sets, hooks...)
	var args []string
	for _, set := range sets {
		args = append(args, "-c", set)
	}
	c.Args = append(args, c.Args...)
	return nil
}

// quoted is a basic string of TOML.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func unquoted(text string) string {
	text = strings.TrimSpace(text)
	var v struct{ V string }
	if toml.Unmarshal([]byte("V="+text), &v) == nil {
		return v.V
	}
	return text
}

// flagValues are the values of every -c VALUE, -c=VALUE and -cVALUE.
func flagValues(args []string, names ...string) []string {
	var values []string
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		for _, name := range names {
			rest, joined := strings.CutPrefix(args[i], name)
			switch {
			case args[i] == name && i+1 < len(args):
				values = append(values, args[i+1])
			case joined && strings.HasPrefix(rest, "="):
				values = append(values, rest[1:])
			case joined && len(name) == 2 && rest != "":
				values = append(values, rest)
			}
		}
	}
	return values
}
