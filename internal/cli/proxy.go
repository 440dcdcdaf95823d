package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/proxy"
)

// ProxyDeps is what the proxy command needs from outside.
type ProxyDeps struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Now      func() time.Time
	Config   func() (config.Config, error)
	Network  proxy.Network
	Connect  func(context.Context, command.Reach) (command.Caller, error)
}

// proxyOptions are the flags of proxy.
type proxyOptions struct {
	upstream, agent string
	untilEOF        bool
}

// NewProxyCommand makes `turnback proxy PROVIDER`.
func NewProxyCommand(d ProxyDeps) *cobra.Command {
	var o proxyOptions
	var names []string
	for _, p := range proxy.Providers() {
		names = append(names, string(p))
	}
	cmd := &cobra.Command{
		Use:   "proxy PROVIDER",
		Short: "Stand between one agent and its provider, and collapse rewound spans",
		Long: `Listen on the loopback and hand every request on to PROVIDER (anthropic, openai or
gemini). In those that carry a conversation's history, what lies between a
checkpoint and its rewind is replaced by the rewind's report; all else passes as it
came. turnback run --conversation starts one for its agent.

The first line of output is the base URL for the agent. It has a secret in its
path: whoever has the URL can use the proxy, and nobody else. Do not put it into a
configuration that outlives the proxy.

Upstream is --upstream, else [conversation.proxy] of the configuration, else the
environment's ANTHROPIC_BASE_URL, OPENAI_BASE_URL or GOOGLE_GEMINI_BASE_URL, else
the provider's own. HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE and NODE_EXTRA_CA_CERTS
hold as they do for the agent. Keys come from the agent; they and the requests are
written nowhere.

It ends on SIGTERM or an interrupt.

Exit status: 0 ended in order, 1 it cannot listen, 2 wrong usage.`,
		Example: `  turnback proxy anthropic
  turnback proxy openai --upstream http://127.0.0.1:11434/v1`,
		Args:      command.ExactArgs("PROVIDER"),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(names, args[0]) {
				return api.Errorf(api.CodeInvalidParams, "there is no provider %q", args[0]).
					WithHint(api.Hint{Param: "provider", Accepted: names})
			}
			return d.run(cmd.Context(), proxy.Provider(args[0]), o)
		},
	}
	cmd.Flags().StringVar(&o.upstream, "upstream", "", "base `URL` to send to")
	cmd.Flags().StringVar(&o.agent, "agent", "", "`NAME` of the agent, where its requests do not tell")
	cmd.Flags().BoolVar(&o.untilEOF, "until-eof", false, "end when standard input closes, too")
	return cmd
}

func (d ProxyDeps) run(ctx context.Context, p proxy.Provider, o proxyOptions) error {
	upstream, err := d.upstream(p, o.upstream)
	if err != nil {
		return err
	}
	transport, err := proxy.NewTransport(d.Network)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	// The library of the transport tells of odd upstreams in the log of the process,
	// with their bytes: on the agent's terminal, or into a pipe that nobody reads any
	// more, which would end the process.
	log.SetOutput(io.Discard)
	// One that run started belongs to a conversation, of which the daemon has to
	// know. For another it is told what it wants to hear when it is there.
	reach := command.DialOnly
	launch := d.Getenv("TURNBACK_LAUNCH")
	if launch != "" {
		reach = command.StartDaemon
	}
	daemon, err := d.Connect(ctx, reach)
	if err != nil {
		return err
	}
	server, err := proxy.Listen(proxy.Options{
		Provider: p, Upstream: upstream, Transport: transport, Daemon: daemon, Now: d.Now, Agent: o.agent, Launch: launch,
	})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(d.Out, server.URL()); err != nil {
		return errors.Join(err, server.Close())
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	if o.untilEOF {
		// Left behind when a signal ends the proxy first: a read cannot be stopped.
		go func() {
			_, _ = io.Copy(io.Discard, d.In)
			end()
		}()
	}
	return server.Serve(ctx)
}

// upstream is where requests go. Errors do not hold the URL, which may be
// another proxy's, with its secret.
func (d ProxyDeps) upstream(p proxy.Provider, flag string) (*url.URL, error) {
	c, err := d.Config()
	if err != nil {
		return nil, err
	}
	from := "--upstream"
	base := flag
	if base == "" {
		from, base = "conversation.proxy."+string(p), configured(c.Conversation.Proxy, p)
	}
	if base == "" {
		from, base = p.Variable(), d.Getenv(p.Variable())
	}
	if base == "" {
		base = p.DefaultUpstream()
	}
	u, err := url.Parse(base)
	if err == nil {
		err = proxy.CheckUpstream(u)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if err != nil {
		return nil, api.Errorf(api.CodeInvalidParams, "%s is no base URL: %v", from, err).WithHint(api.Hint{Param: from})
	}
	return u, nil
}

func configured(c config.Proxy, p proxy.Provider) string {
	switch p {
	case proxy.OpenAI:
		return c.OpenAI
	case proxy.Gemini:
		return c.Gemini
	default:
		return c.Anthropic
	}
}
