package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/agents/claude"
	"github.com/turnback/turnback/internal/api"
)

// claudeSettings is what matters here of a settings file of Claude Code.
type claudeSettings struct {
	Env          map[string]setting `json:"env"`
	APIKeyHelper string             `json:"apiKeyHelper"`
}

// setting is what a variable is set to. Claude Code takes numbers and booleans, too.
type setting string

// UnmarshalJSON reads a string, a number or a boolean; null is no value.
func (v *setting) UnmarshalJSON(text []byte) error {
	var given any
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	switch got := given.(type) {
	case nil:
	case string:
		*v = setting(got)
	case float64, bool:
		*v = setting(text)
	default:
		return fmt.Errorf("a variable in env is %s", text)
	}
	return nil
}

// settingsText is a settings file as Claude Code takes it: a byte order mark at
// its beginning does not matter, and an empty one says nothing.
func settingsText(text []byte) []byte {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(text) == 0 {
		return []byte("{}")
	}
	return text
}

// claude plans Claude Code.
func (p *Plan) claude() error {
	p.Provider = "anthropic"
	layers, err := p.claudeLayers()
	if err != nil {
		return err
	}
	value := func(name string) string {
		for _, l := range layers { // settings win over the environment in this agent
			if v := l.Env[name]; v != "" {
				return string(v)
			}
		}
		return p.options.getenv(name)
	}
	if err := claudeWay(value); err != nil { // also with an upstream of ours: no base URL is asked there
		return err
	}
	helper := slices.ContainsFunc(layers, func(l claudeSettings) bool { return l.APIKeyHelper != "" })
	if p.options.Configured[p.Provider] == "" && value("ANTHROPIC_API_KEY") == "" && value("ANTHROPIC_AUTH_TOKEN") == "" && !helper && !p.claudeHasKey() {
		return unsupported("Claude Code's login is no API key, and a login of another kind (a subscription) was never tested with a proxy").
			WithHint(api.Hint{Detail: "set ANTHROPIC_API_KEY, or start claude itself: its tools checkpoint and rewind work there, and nothing is collapsed"})
	}
	p.Upstream = value("ANTHROPIC_BASE_URL")
	p.Notes = append(p.Notes, "Claude Code's auto mode was never tested through a proxy, and may refuse its base URL: use another permission mode then")
	p.wire = p.wireClaude
	return nil
}

// claudeWay refuses the ways to a model that are no Messages API.
func claudeWay(value func(string) string) error {
	for _, way := range []struct{ variable, name string }{
		{"CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"},
		{"CLAUDE_CODE_USE_MANTLE", "Amazon Bedrock (Mantle)"},
		{"CLAUDE_CODE_USE_ANTHROPIC_AWS", "Anthropic on AWS"},
		{"CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"},
		{"CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD", "Anthropic on Google Cloud"},
		{"CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"},
		{"CLAUDE_CODE_USE_GATEWAY", "a gateway login"},
	} {
		switch strings.ToLower(value(way.variable)) {
		case "", "0", "false", "no", "off":
		default:
			return unsupported("Claude Code is set up for %s (%s), which the proxy does not speak", way.name, way.variable).
				WithHint(api.Hint{Param: way.variable})
		}
	}
	if value("ANTHROPIC_UNIX_SOCKET") != "" {
		return unsupported("Claude Code sends its requests to a unix socket (ANTHROPIC_UNIX_SOCKET), which the proxy does not do").
			WithHint(api.Hint{Param: "ANTHROPIC_UNIX_SOCKET"})
	}
	return nil
}

// claudeLayers are the settings that will hold, the strongest first.
func (p *Plan) claudeLayers() ([]claudeSettings, error) {
	layers, err := p.managedLayers()
	if err != nil {
		return nil, err
	}
	add := func(where string, text []byte) error {
		var s claudeSettings
		if err := json.Unmarshal(settingsText(text), &s); err != nil {
			return unsupported("%s does not parse, so it is not known where Claude Code sends its requests: %v", where, err)
		}
		layers = append(layers, s)
		return nil
	}
	if flag, ok := flagValue(p.options.Args, "--settings"); ok {
		text, err := p.settingsFlag(flag)
		if err == nil {
			err = add("--settings", text)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, path := range p.claudeFiles() {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = add(path, text)
		}
		if err != nil {
			return nil, err
		}
	}
	return layers, nil
}

// claudeFiles are the settings files, the strongest first.
func (p *Plan) claudeFiles() []string {
	root := p.options.Dir
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			root = dir
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	files := []string{claude.LocalSettings(root), claude.ProjectSettings(root)}
	if user, err := claude.UserSettings(p.options.getenv); err == nil {
		files = append(files, user)
	}
	return files
}

// settingsFlag is the value of --settings: a file's name, or JSON itself.
func (p *Plan) settingsFlag(value string) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		return []byte(value), nil
	}
	if !filepath.IsAbs(value) {
		value = filepath.Join(p.options.Dir, value)
	}
	text, err := os.ReadFile(value)
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidParams, "read --settings: %v", err).WithHint(api.Hint{Param: "--settings"})
	}
	return settingsText(text), nil
}

// claudeHasKey says whether the person logged in with an API key.
func (p *Plan) claudeHasKey() bool {
	home := p.options.getenv("CLAUDE_CONFIG_DIR")
	if home == "" {
		home = p.options.getenv("HOME")
	}
	text, err := os.ReadFile(filepath.Join(home, ".claude.json"))
	if err != nil {
		return false
	}
	var state struct {
		PrimaryAPIKey string `json:"primaryApiKey"`
	}
	return json.Unmarshal(text, &state) == nil && state.PrimaryAPIKey != ""
}

// wireClaude gives Claude Code a settings file and an MCP server of this launch.
// The base URL stands in the file too, since the person's settings would win over
// the environment.
func (p *Plan) wireClaude(c *Command, folder, base string) error {
	c.set("ANTHROPIC_BASE_URL", base)
	settings := map[string]json.RawMessage{}
	if flag, ok := flagValue(c.Args, "--settings"); ok {
		text, err := p.settingsFlag(flag)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &settings); err != nil {
			return fmt.Errorf("read --settings: %w", err)
		}
		if settings == nil { // it was null
			settings = map[string]json.RawMessage{}
		}
	}
	if err := setIn(settings, "env", "ANTHROPIC_BASE_URL", base); err != nil {
		return err
	}
	if err := setIn(settings, "env", Launch, p.options.ID); err != nil {
		return err
	}
	if err := allow(settings, "mcp__turnback__checkpoint", "mcp__turnback__rewind"); err != nil {
		return err
	}
	if err := p.addHooks(settings); err != nil {
		return fmt.Errorf("make the settings of this launch: %w", err)
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return fmt.Errorf("make the settings of this launch: %w", err)
	}
	settingsFile, err := write(folder, "settings.json", text)
	if err != nil {
		return err
	}
	servers, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"turnback": map[string]any{
		"type": "stdio", "command": p.options.Self, "args": []string{"mcp", "--conversation"},
	}}})
	if err != nil {
		return fmt.Errorf("make the settings of this launch: %w", err)
	}
	serversFile, err := write(folder, "mcp.json", servers)
	if err != nil {
		return err
	}
	// With an equals sign: --mcp-config would take the prompt for one more file.
	c.Args = slices.Concat([]string{"--settings=" + settingsFile, "--mcp-config=" + serversFile}, withoutFlag(c.Args, "--settings"))
	return nil
}

// addHooks puts turnback's hooks into settings, but for the events at which they
// run anyway: twice would report everything twice.
func (p *Plan) addHooks(settings map[string]json.RawMessage) error {
	text, err := claude.InstallConversation(nil, p.options.Self)
	if err != nil {
		return err
	}
	var own struct{ Hooks map[string][]json.RawMessage }
	if err := json.Unmarshal(text, &own); err != nil {
		return err
	}
	hooks, err := member[[]json.RawMessage](settings, "hooks")
	if err != nil {
		return err
	}
	installed := p.claudeHooks()
	for event, groups := range own.Hooks {
		if !slices.Contains(installed, event) {
			hooks[event] = append(hooks[event], groups...)
		}
	}
	settings["hooks"], err = json.Marshal(hooks)
	return err
}

// claudeHooks are the events at which turnback's hooks run by the person's
// settings.
func (p *Plan) claudeHooks() []string {
	var events []string
	for _, path := range p.claudeFiles() {
		text, err := os.ReadFile(path)
		if err != nil || len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		hooks, err := claude.Hooks(text, p.options.Self)
		if err != nil {
			continue // the agent ignores the file too
		}
		for _, h := range hooks {
			events = append(events, h.Event)
		}
	}
	return events
}

// setIn sets a string in an object of an object.
func setIn(settings map[string]json.RawMessage, table, name, value string) error {
	inner, err := member[json.RawMessage](settings, table)
	if err != nil {
		return err
	}
	if inner[name], err = json.Marshal(value); err != nil {
		return err
	}
	settings[table], err = json.Marshal(inner)
	return err
}

// member is an object of the person's --settings, to be changed; empty where there
// is none.
func member[T any](settings map[string]json.RawMessage, name string) (map[string]T, error) {
	var inner map[string]T
	if old, ok := settings[name]; ok {
		if err := json.Unmarshal(old, &inner); err != nil {
			return nil, api.Errorf(api.CodeInvalidParams, "%s of --settings cannot be read: %v", name, err).WithHint(api.Hint{Param: "--settings"})
		}
	}
	if inner == nil { // also for null
		inner = map[string]T{}
	}
	return inner, nil
}

// allow lets the model use tools without asking.
func allow(settings map[string]json.RawMessage, tools ...string) error {
	permissions, err := member[json.RawMessage](settings, "permissions")
	if err != nil {
		return err
	}
	var list []string
	if old, ok := permissions["allow"]; ok {
		if err := json.Unmarshal(old, &list); err != nil {
			return fmt.Errorf("read permissions of --settings: %w", err)
		}
	}
	if permissions["allow"], err = json.Marshal(append(list, tools...)); err != nil {
		return err
	}
	settings["permissions"], err = json.Marshal(permissions)
	return err
}

// withoutFlag leaves out --name VALUE and --name=VALUE.
func withoutFlag(args []string, name string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "--":
			return append(kept, args[i:]...)
		case args[i] == name:
			i++
		case !strings.HasPrefix(args[i], name+"="):
			kept = append(kept, args[i])
		}
	}
	return kept
}
