package launch

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/internal/api"
)

//go:embed plugins
var plugins embed.FS

// rewriter plans an agent whose plugins may rewrite what it sends: it needs no
// proxy.
func (p *Plan) rewriter() error {
	p.wire = func(c *Command, folder, _ string) error { return p.wirePlugin(c, folder) }
	return nil
}

// wirePlugin gives the agent a plugin of this launch.
func (p *Plan) wirePlugin(c *Command, folder string) error {
	text, err := p.plugin()
	if err != nil {
		return fmt.Errorf("make the plugin of this launch: %w", err)
	}
	path, err := write(folder, "turnback.js", text)
	if err != nil {
		return err
	}
	if p.Agent == "pi" {
		c.Args = slices.Concat([]string{"--extension", path}, c.Args)
		return nil
	}
	config, err := p.openCodeConfig("file://" + path)
	if err != nil {
		return err
	}
	c.set(openCodeConfig, config)
	return nil
}

// plugin is the text of the agent's plugin.
func (p *Plan) plugin() ([]byte, error) {
	about := map[string]any{}
	for _, tool := range []conversation.Tool{conversation.ToolCheckpoint, conversation.ToolRewind} {
		told := tool.Told()
		about[string(tool)] = map[string]string{"description": told.Description, "argument": told.About, "snippet": told.Snippet}
	}
	settings, err := json.Marshal(map[string]any{
		"program": p.options.Self, "args": []string{"plugin", p.Agent}, "tools": about,
	})
	if err != nil {
		return nil, err
	}
	ask, err := plugins.ReadFile("plugins/ask.js")
	if err != nil {
		return nil, err
	}
	own, err := plugins.ReadFile("plugins/" + p.Agent + ".js")
	if err != nil {
		return nil, err
	}
	return slices.Concat(ask, []byte("\nconst turnback = "), settings, []byte(";\n\n"), own), nil
}

// openCodeConfig is the variable with a configuration that OpenCode lays over the
// person's. Lists of plugins are put together.
const openCodeConfig = "OPENCODE_CONFIG_CONTENT"

// openCodeConfig adds the plugin to what the caller has in the variable.
func (p *Plan) openCodeConfig(plugin string) (string, error) {
	config := map[string]json.RawMessage{}
	var list []json.RawMessage
	if old := p.options.getenv(openCodeConfig); old != "" {
		err := json.Unmarshal([]byte(old), &config)
		if had := config["plugin"]; err == nil && had != nil {
			err = json.Unmarshal(had, &list)
		}
		if err != nil {
			return "", unsupported("%s does not parse as JSON, so the plugin cannot be added to it: %v", openCodeConfig, err).
				WithHint(api.Hint{Param: openCodeConfig})
		}
	}
	quoted, err := json.Marshal(plugin)
	if err != nil {
		return "", err
	}
	if config["plugin"], err = json.Marshal(append(list, quoted)); err != nil {
		return "", err
	}
	text, err := json.Marshal(config)
	return string(text), err
}
