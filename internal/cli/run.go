package cli

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/launch"
	"github.com/turnback/turnback/internal/xec"
)

// proxyStartWait is how long a proxy may take until it listens.
const proxyStartWait = 10 * time.Second

// RunDeps is what the run command needs from outside.
type RunDeps struct {
	In, Out, Err *os.File
	Environ      []string
	Getenv       func(string) string
	Dir          func() (string, error) // the working directory, absolute
	Executable   func() (string, error) // this program, absolute
	TempDir      string
	Managed      string // folder of an administrator's settings of Claude Code
	Config       func() (config.Config, error)
	Signals      func() (signals <-chan os.Signal, stop func()) // those that end a process
}

// NewRunCommand makes `turnback run`.
func NewRunCommand(d RunDeps) *cobra.Command {
	var conversation bool
	cmd := &cobra.Command{
		Use:   "run --conversation -- AGENT [ARG...]",
		Short: "Start an agent whose model can checkpoint and rewind its conversation",
		Long: `Start AGENT (` + strings.Join(launch.Agents(), ", ") + `) in this terminal with the tools checkpoint
and rewind, and have what lies between the two collapsed in what it sends: by a
proxy before its provider, in opencode and pi by a plugin. The agent runs as if it
had been called itself: the same directory, arguments, terminal, signals and exit
status. Its own settings stay as they are; what is needed it gets for this one
process.

The proxy ends with the agent. Where the agent's requests go is found out from its
environment and settings; [conversation.proxy] of the configuration overrides it.
What the proxy does not speak (Bedrock, Vertex) or was never tested (a login that is
no API key) is refused before the agent starts.

Exit status: the agent's; 1 it cannot be started this way, 2 wrong usage.`,
		Example: `  turnback run --conversation -- claude
  turnback run --conversation -- claude --continue
  turnback run --conversation -- codex exec "find out why the build is slow"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return command.UsageError(cmd, "AGENT is missing")
			case !conversation:
				return command.UsageError(cmd, "run takes --conversation only: windows of turnback's own are not there yet")
			}
			return d.run(cmd.Context(), args)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().BoolVar(&conversation, "conversation", false, "give the agent's model the tools checkpoint and rewind")
	return cmd
}

// run starts the agent and returns when it has ended.
func (d RunDeps) run(ctx context.Context, args []string) (err error) {
	plan, path, err := d.plan(args)
	if err != nil {
		return err
	}
	launch.Sweep(d.TempDir)
	folder, err := launch.NewFolder(d.TempDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	signals, stop := d.Signals() // from here on they are the agent's
	defer stop()
	p := new(runningProxy)
	if plan.Provider != "" {
		if p, err = d.startProxy(plan); err != nil {
			return err
		}
		defer p.end()
	}
	c, err := plan.Command(folder.Path, p.url)
	if err != nil {
		return err
	}
	for _, note := range plan.Notes {
		_, _ = fmt.Fprintf(d.Err, "turnback: %s\n", note)
	}
	status, err := xec.Attended(xec.Command{Path: path, Args: c.Args, Env: c.Environ, Stdin: d.In, Stdout: d.Out}, d.Err, []*os.File{p.pipe(), folder.Lock()}, signals)
	if err != nil {
		return err
	}
	if status != 0 {
		return command.SilentFailure{Status: status}
	}
	return nil
}

// plan finds the agent, and how it is started.
func (d RunDeps) plan(args []string) (*launch.Plan, string, error) {
	c, err := d.Config()
	if err != nil {
		return nil, "", err
	}
	dir, err := d.Dir()
	if err != nil {
		return nil, "", err
	}
	self, err := d.Executable()
	if err != nil {
		return nil, "", fmt.Errorf("find turnback's own program: %w", err)
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, "", fmt.Errorf("name this launch: %w", err)
	}
	plan, err := launch.New(launch.Options{
		Args: args, Environ: d.Environ, Dir: dir, Self: self, ID: hex.EncodeToString(id[:]), Managed: d.Managed,
		Configured: map[string]string{
			"anthropic": c.Conversation.Proxy.Anthropic, "openai": c.Conversation.Proxy.OpenAI, "gemini": c.Conversation.Proxy.Gemini,
		},
	})
	if err != nil {
		return nil, "", err
	}
	path, err := xec.Find(args[0], dir, d.Getenv("PATH"))
	if err != nil {
		return nil, "", api.Errorf(api.CodeUnsupported, "%s cannot be started: %v", args[0], err)
	}
	return plan, path, nil
}

// runningProxy is the proxy of one launch, a process of its own: it lives as long
// as the agent, also when this process is killed.
type runningProxy struct {
	process *xec.Process
	url     string
}

// pipe is the pipe that keeps the proxy alive; nil where there is none.
func (p *runningProxy) pipe() *os.File {
	if p.process == nil {
		return nil
	}
	return p.process.Pipe()
}

func (d RunDeps) startProxy(plan *launch.Plan) (*runningProxy, error) {
	process, err := xec.Start(context.Background(), xec.Command{
		Path: plan.Self(), Args: []string{"proxy", plan.Provider, "--agent", plan.Agent, "--until-eof"}, Env: plan.ProxyEnviron(), Dir: "/",
		Stall: proxyStartWait,
	})
	if err != nil {
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	line, err := bufio.NewReader(process.Stdout).ReadString('\n')
	if err != nil {
		process.Kill()
		if ended := process.Wait(); ended != nil {
			err = ended
		}
		if said := process.Stderr(); said != "" {
			return nil, api.Errorf(api.CodeUnsupported, "the proxy did not start: %s", strings.TrimPrefix(strings.TrimSpace(said), "turnback: "))
		}
		return nil, fmt.Errorf("start the proxy: %w", err)
	}
	process.Rest()
	return &runningProxy{process, strings.TrimSuffix(line, "\n")}, nil
}

// end ends the proxy, and waits for what it still tells the daemon.
func (p *runningProxy) end() {
	process := p.process
	_ = process.Stdin.Close()
	late := time.AfterFunc(proxyStartWait, process.Kill)
	defer late.Stop()
	_, _ = io.Copy(io.Discard, process.Stdout)
	_ = process.Wait()
}
