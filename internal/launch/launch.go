// Package launch works out how another agent is started for one process with the
// tools of conversation checkpoints: its own settings and flags for our MCP
// server, and the base URL of the proxy that stands before its provider; or a
// plugin, where those may rewrite what is sent. Nothing
// is written into the person's settings. It reads the agent's settings to find
// out where its requests go, and refuses what it cannot be sure of.
package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/api"
)

// ProxySecret is the variable that holds the proxy's secret, for agents that
// take a header from their environment but a base URL only in their arguments.
const ProxySecret = "TURNBACK_PROXY_SECRET"

// Launch is the variable with the public id of a launch.
const Launch = "TURNBACK_LAUNCH"

// Options say what is to be started.
type Options struct {
	Args    []string // the agent's command line; the first is the program as the person named it
	Environ []string // the caller's
	Dir     string   // where the agent is to work, absolute
	Self    string   // turnback's own program, absolute
	ID      string   // public id of this launch
	Managed string   // folder of an administrator's settings of Claude Code, see ManagedFolder; empty: none

	// Configured has the upstreams that [conversation.proxy] names, by provider.
	// They stand in for what an agent would have used.
	Configured map[string]string
}

// Plan is how an agent is started.
type Plan struct {
	Agent    string   // its name
	Provider string   // of its proxy; empty: a plugin rewrites what is sent, and there is none
	Upstream string   // base URL that it would have used; empty: the provider's own
	Notes    []string // what the person should know, a sentence each, without a full stop

	options Options
	wire    func(c *Command, folder, base string) error
}

// Command is what to run.
type Command struct {
	Args    []string // without the program
	Environ []string
}

// Agents are the agents that can be started, by the names of their programs.
func Agents() []string { return []string{"claude", "codex", "opencode", "pi"} }

// New plans the start of an agent. An error is an *api.Error that names what is
// not supported.
func New(o Options) (*Plan, error) {
	p := &Plan{options: o, Agent: strings.TrimSuffix(filepath.Base(o.Args[0]), ".exe")}
	var err error
	switch p.Agent {
	case "claude":
		err = p.claude()
	case "codex":
		err = p.codex()
	case "opencode", "pi":
		err = p.rewriter()
	default:
		err = api.Errorf(api.CodeInvalidParams, "run --conversation does not know the agent %q", p.Agent).
			WithHint(api.Hint{Param: "agent", Accepted: Agents()})
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Self is turnback's own program.
func (p *Plan) Self() string { return p.options.Self }

// ProxyEnviron is the environment of the plan's proxy: the caller's, with where
// the agent's requests would have gone. It stands there and not in arguments,
// since it may be another proxy's URL, with its secret.
func (p *Plan) ProxyEnviron() []string {
	c := Command{Environ: slices.Clone(p.options.Environ)}
	c.set(Launch, p.options.ID)
	c.set(variable(p.Provider), p.Upstream)
	return c.Environ
}

// variable is where `turnback proxy` looks for a provider's base URL.
func variable(provider string) string {
	if provider == "openai" {
		return "OPENAI_BASE_URL"
	}
	return "ANTHROPIC_BASE_URL"
}

// Command is what to run before the proxy at base, its URL with the secret; empty
// where there is no proxy. Files
// of this launch are written into folder, which is absolute, there already, and
// for nobody else.
func (p *Plan) Command(folder, base string) (Command, error) {
	c := Command{Args: slices.Clone(p.options.Args[1:]), Environ: slices.Clone(p.options.Environ)}
	c.set(Launch, p.options.ID)
	c.reachLoopback()
	if err := p.wire(&c, folder, base); err != nil {
		return Command{}, err
	}
	return c, nil
}

// unsupported is a way to a provider that is not known to work.
func unsupported(format string, args ...any) *api.Error {
	return api.Errorf(api.CodeUnsupported, format, args...)
}

// getenv reads the caller's environment; the last of several values holds.
func (o Options) getenv(name string) string { return getenv(o.Environ, name) }

func getenv(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// set gives a variable a value.
func (c *Command) set(name, value string) {
	c.Environ = slices.DeleteFunc(c.Environ, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	c.Environ = append(c.Environ, name+"="+value)
}

// reachLoopback keeps a company's HTTP proxy from being asked for ours. What
// NO_PROXY has stays.
func (c *Command) reachLoopback() {
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		switch old := getenv(c.Environ, name); {
		case old == "*":
		case old == "":
			c.set(name, "127.0.0.1,localhost")
		default:
			c.set(name, old+",127.0.0.1,localhost")
		}
	}
}

// write puts a file of a launch into its folder, and returns its path.
func write(folder, name string, text []byte) (string, error) {
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("write the agent's settings of this launch: %w", err)
	}
	return path, nil
}

// flagValue is the value of the last --name VALUE or --name=VALUE before a --.
func flagValue(args []string, names ...string) (value string, found bool) {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		for _, name := range names {
			if rest, ok := strings.CutPrefix(args[i], name+"="); ok {
				value, found = rest, true
			} else if args[i] == name && i+1 < len(args) {
				value, found = args[i+1], true
			}
		}
	}
	return value, found
}
