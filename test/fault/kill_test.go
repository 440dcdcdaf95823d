//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// The environment variables by which the test program acts in a world and is
// killed meanwhile.
const (
	actName = "TURNBACK_TEST_ACT"
	actRoot = "TURNBACK_TEST_ROOT"
	actGit  = "TURNBACK_TEST_GIT"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(actName); name != "" {
		if err := act(name, os.Getenv(actRoot), os.Getenv(actGit)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(name, root, program string) error {
	ctx := context.Background()
	g, err := git.Find(ctx, git.FindOptions{Env: os.Environ(), Configured: program})
	if err != nil {
		return err
	}
	s, err := checkpoint.Open(ctx, checkpoint.Options{Dir: root, Env: os.Environ(), Git: g, Now: time.Now})
	if err != nil {
		return err
	}
	w := &world{Repo: gittest.At(nil, os.Getenv("HOME"), root), pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}}
	for _, sc := range scenarios() {
		if sc.name == name {
			return sc.act(ctx, w, s)
		}
	}
	return fmt.Errorf("no act is called %q", name)
}

// TestB101KilledAtEachGitCall kills the process, by SIGKILL, at each call of git
// in turn.
func TestB101KilledAtEachGitCall(t *testing.T) {
	for k, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			w := newWorld(t, sc)
			s := newStub(t, w.Env(), 10*time.Second)
			w.reset()
			s.arm(t, 0, "")
			if err := w.actInProcess(t, sc, s); err != nil {
				t.Fatalf("without any fault: %v", err)
			}
			for _, at := range places(s.calls(), k) {
				t.Run(fmt.Sprintf("at call %d", at), func(t *testing.T) {
					w.t = t
					w.reset()
					before := w.state()
					s.arm(t, at, die)
					err := w.actInProcess(t, sc, s)
					t.Logf("git %s: %v", s.hit(), err)
					if err == nil && s.hit() != "" { // young files may be looked at once more, or not
						t.Error("the process was not killed")
					}
					w.check(sc, before, err)
				})
			}
		})
	}
}

func (w *world) actInProcess(t testing.TB, sc scenario, s *stub) error {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(w.Env(), actName+"="+sc.name, actRoot+"="+w.Root, actGit+"="+filepath.Join(s.dir, "git"))
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("killed by signal %d", status.Signal())
	}
	return fmt.Errorf("%w: %s", err, out)
}
