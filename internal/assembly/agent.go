package assembly

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/xec"
)

// AgentProgram is the program that our own agent is in: the libraries of the
// providers make a process start slower, and a hook must not wait for them.
const AgentProgram = "turnback-agent"

// agent becomes the agent's program.
func (p Process) agent(ctx context.Context, f command.AgentFlags) error {
	path, err := p.beside(AgentProgram)
	if err != nil {
		return err
	}
	return xec.Become(ctx, path, f.Args(), p.Environ, xec.Streams{In: p.Stdin, Out: p.Stdout, Err: p.Stderr})
}

// beside finds a program of ours: in the folder of this one, or of what that is a
// link to, else in PATH.
func (p Process) beside(name string) (string, error) {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	var folders []string
	if self := p.program(); self != "" {
		folders = append(folders, filepath.Dir(self))
		if real, err := filepath.EvalSymlinks(self); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
	}
	for _, dir := range append(folders, filepath.SplitList(p.getenv("PATH"))...) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", api.Errorf(api.CodeInternal, "the program %s is not here", name).WithHint(api.Hint{
		Detail: "it belongs beside turnback, in " + strings.Join(folders[:min(1, len(folders))], "") + "; make build and go install ./cmd/... make both",
	})
}
